"""Floor 1: where state lives and how it is stored. Each part loads on first use, since a client waits for its hook."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
