"""What a judge is asked: the question, the files framed as data, and the shape of the answer."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
