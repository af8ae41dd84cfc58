from .decoding import decoded as decoded
from .panel import ReadReply as ReadReply
from .panel import ask_panel as ask_panel
from .panel import panel_answer as panel_answer
from .panel import panel_error as panel_error
from .panel import read_checked as read_checked
from .panel import verdict_fault as verdict_fault
