"""Blinded workspaces, confined read-only tools, judge backends, and verdicts that are checked before they count."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
