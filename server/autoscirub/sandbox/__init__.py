"""Floor 1: running programs that are not ours, isolated as well as this machine can, and with limits."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
