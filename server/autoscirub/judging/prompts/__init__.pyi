from .framing import plain as plain
from .questions import PROMPT_VERSION as PROMPT_VERSION
from .questions import Prompt as Prompt
from .questions import criterion_prompt as criterion_prompt
from .questions import hypothesis_prompt as hypothesis_prompt
