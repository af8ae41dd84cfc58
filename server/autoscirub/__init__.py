"""autoscirub: decides whether a coding agent's work is done, from evidence.

`import autoscirub` loads nothing heavy; each name below loads its part of the package when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
