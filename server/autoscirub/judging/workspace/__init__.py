"""Blinded workspaces: a copy of what a profile allows, built outside the project, with a manifest."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
