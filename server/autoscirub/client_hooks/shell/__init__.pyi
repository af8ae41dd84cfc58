from .commands import Shell as Shell
from .expand import Surroundings as Surroundings
from .rules import Touched as Touched
from .words import HIDDEN as HIDDEN
from .words import hide as hide
from .words import show as show
