"""`doctor`: what this machine has, what is missing, and how to get it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
