"""The coding agents' own programs, Claude Code and Codex: found, queried, and made to add or remove the plugin."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
