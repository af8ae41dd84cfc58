"""Floor 1: running what is not ours, isolated as well as this machine can, and bounded."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
