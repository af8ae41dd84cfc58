"""Floor 1: running what is not ours. For now as a plain process with a time limit; isolation comes with rerun."""

from autoscirub.sandbox.process import Finished, run_program

__all__ = ["Finished", "run_program"]
