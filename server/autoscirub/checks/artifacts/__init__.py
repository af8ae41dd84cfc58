"""Artifact checks: is a promised file there, inside the project, non-empty, and really what it says it is?"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
