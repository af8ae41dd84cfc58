"""Renders results as text for terminals and CI, from Decisions and models alone."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
