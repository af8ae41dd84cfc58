"""What a shell command would write to: enough of the shell to protect locked files from accidents."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
