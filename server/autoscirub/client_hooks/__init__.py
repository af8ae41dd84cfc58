"""Floor 5: what a coding agent's client runs at its hooks. Each answer takes well under 300 ms.

The hooks are a fence and a reminder; the audit is the proof. Nothing here runs code of the project, asks a judge, or
fails in a way that would hold a client up.
"""

from autoscirub.client_hooks.entry import EVENTS, main

__all__ = ["EVENTS", "main"]
