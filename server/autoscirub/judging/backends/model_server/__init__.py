"""The `openai` backend: a judge behind any server that speaks OpenAI's chat or responses format."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
