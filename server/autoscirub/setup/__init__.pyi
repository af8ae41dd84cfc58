from .initialise import initialise as initialise
from .skills import describe_skills as describe_skills
from .skills import lint_skills as lint_skills
from .trust import look_at_trust as look_at_trust
from .trust import record_trust as record_trust
