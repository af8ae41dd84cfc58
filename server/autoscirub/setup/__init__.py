"""Setting up: a project, what may run in it, coding agents; and what this machine has and holds."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
