from .blinded import Workspace as Workspace
from .blinded import build_workspace as build_workspace
from .blinded import measure_workspace as measure_workspace
from .limits import WorkspaceLimits as WorkspaceLimits
from .measure import WorkspaceDigests as WorkspaceDigests
from .visible import workspace_digest as workspace_digest
