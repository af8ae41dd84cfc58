"""Floor 5: what a coding agent's client runs at its hooks. Each answer comes in well under 300 ms.

A fence and a reminder: the audit is the proof. Nothing here runs anything of the project's, asks a judge, or fails
in a way that would hold a client up.
"""

from autoscirub.client_hooks.entry import EVENTS, main

__all__ = ["EVENTS", "main"]
