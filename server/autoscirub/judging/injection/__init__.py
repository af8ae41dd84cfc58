"""Text in a project that addresses the judge: found and reported, never obeyed."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
