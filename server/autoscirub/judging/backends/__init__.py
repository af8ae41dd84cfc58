"""Judge backends: the interface, the built-in ones, and the limits that are enforced on each of them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
