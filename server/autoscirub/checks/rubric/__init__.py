"""The rubric: reading it in both its forms, linting it before a freeze, and what changed in it since."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
