"""Artifact checks: is a promised file there, inside the project, non-empty, and really what it says it is?"""

from autoscirub.checks.artifacts.check import check_artifact, check_artifacts
from autoscirub.checks.artifacts.paths import path_faults, path_warnings

__all__ = ["check_artifact", "check_artifacts", "path_faults", "path_warnings"]
