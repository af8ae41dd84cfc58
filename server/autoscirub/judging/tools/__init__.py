"""The judge's four read-only tools (list, glob, grep, read), bound to one workspace, and their server."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
