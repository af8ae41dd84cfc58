from .run import run_selftest as run_selftest
