"""Reads verdicts from judges' replies and checks each verdict before it counts."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
