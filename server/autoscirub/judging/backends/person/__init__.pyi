from .backend import NOBODY as NOBODY
from .backend import PersonBackend as PersonBackend
from .citing import cited_evidence as cited_evidence
from .citing import typed_path as typed_path
from .dialogue import LEFT as LEFT
from .terminal import PersonTerminal as PersonTerminal
