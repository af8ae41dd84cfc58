"""The jobs that people and agents ask for; this room alone wires the rooms below."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
