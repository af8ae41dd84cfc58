"""Locking what decides: freezing it, checking the locks, and changing the scope on the record."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
