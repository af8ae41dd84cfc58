"""Profiles: which files of a project a judge may see, and which are always withheld."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
