from .bounds import ToolBounds as ToolBounds
from .bounds import ToolCall as ToolCall
from .bounds import ToolReply as ToolReply
from .server import make_server as make_server
from .toolset import WorkspaceTools as WorkspaceTools
