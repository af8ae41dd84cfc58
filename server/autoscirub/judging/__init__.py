"""Asking a judge: blinded workspaces, read-only tools, backends, and verdicts that are checked before they count."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
