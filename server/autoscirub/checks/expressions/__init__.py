"""The restricted expression evaluator: a check's expression is parsed, refused or compiled, and evaluated.

Nothing here calls `eval`, `exec` or `compile`: the syntax tree is walked through two closed tables, the
grammar's (`grammar.GRAMMAR`) and the compiler's (`compile.BUILDERS`).
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
