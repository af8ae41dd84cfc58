"""The audit of a record: what it rests on, its rounds, and its verification."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
