from .evidence_checks import problems_of as problems_of
from .replies import HYPOTHESIS_SUBJECT as HYPOTHESIS_SUBJECT
from .replies import read_reply as read_reply
from .replies import repair_request as repair_request
