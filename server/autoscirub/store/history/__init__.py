"""The project's history: each step a commit in a repository of our own, exported as `history.bundle`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
