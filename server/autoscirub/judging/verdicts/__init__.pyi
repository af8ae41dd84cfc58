from .check import CheckedVerdict as CheckedVerdict
from .check import SettledVerdict as SettledVerdict
from .check import check_verdict as check_verdict
from .check import question_back as question_back
from .check import settle as settle
from .replies import HYPOTHESIS_SUBJECT as HYPOTHESIS_SUBJECT
from .replies import read_reply as read_reply
from .replies import repair_request as repair_request
