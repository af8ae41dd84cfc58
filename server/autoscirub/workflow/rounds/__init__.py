"""Verify → revise rounds: the rules, one verification, the plan, the guard around a reviser, and the loop."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
