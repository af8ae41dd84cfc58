"""`install` and `uninstall`: adds the plugin to a coding agent's client, and removes it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
