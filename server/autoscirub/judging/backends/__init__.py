"""Who reads what code cannot decide: one small protocol, the backends behind it, and limits held from outside."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
