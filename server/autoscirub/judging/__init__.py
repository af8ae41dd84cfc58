"""Blinded workspaces, confined read-only tools, judge backends, and verdicts that are checked before they count."""
