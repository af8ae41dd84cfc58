from .choose import Ask as Ask
from .choose import choose as choose
from .choose import command_of as command_of
from .choose import path_of as path_of
from .find import find_setup as find_setup
