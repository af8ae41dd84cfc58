"""Deciding criteria: what code can decide of each, what is reused, and the report over all of them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
