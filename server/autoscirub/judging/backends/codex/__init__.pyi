from .backend import CodexBackend as CodexBackend
from .home import lay_codex_home as lay_codex_home
