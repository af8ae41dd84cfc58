"""The `codex` backend: each question is one `codex exec`, with the user's login and nothing else of theirs."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
