"""Floor 4: sets up projects, trust and coding agents, and checks what this machine has and enforces."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
