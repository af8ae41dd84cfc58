"""Calibration: how often the configured judge is right on cases that a person has labelled."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
