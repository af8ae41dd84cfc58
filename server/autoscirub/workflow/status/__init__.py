"""`status`: where a project is, what exists, what is valid and what comes next."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
