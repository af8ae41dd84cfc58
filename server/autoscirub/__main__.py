"""Entry point of `python -m autoscirub`."""

import sys

from autoscirub.cli import main

if __name__ == "__main__":
    sys.exit(main())
