"""Floor 0: the data models that the whole package shares. No I/O.

Each loads when it is first used: building them takes longer than a command that needs none of them should wait.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
