"""What code decides: expressions over results, artifacts, predictions and their lock."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
