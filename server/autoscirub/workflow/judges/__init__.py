"""Asking judges: questions, cached verdicts, the ledger of asks, and answers as Decisions."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
