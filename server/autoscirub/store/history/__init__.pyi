from .facts import HistoryCommit as HistoryCommit
from .memory import records_of as records_of
from .repository import path_problem as path_problem
from .steps import History as History
from .steps import placeless as placeless
