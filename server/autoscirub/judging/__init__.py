"""Blinded workspaces, confined read-only tools, judge backends, and verdicts that are checked before they count."""

from autoscirub.judging.profiles import CRITERION, HYPOTHESIS, Profile, load_profile, profile_names
from autoscirub.judging.workspace import Workspace, build_workspace
from autoscirub.judging.workspace_build import workspace_digest
from autoscirub.judging.workspace_limits import WorkspaceLimits

__all__ = [
    "CRITERION",
    "HYPOTHESIS",
    "Profile",
    "Workspace",
    "WorkspaceLimits",
    "build_workspace",
    "load_profile",
    "profile_names",
    "workspace_digest",
]
