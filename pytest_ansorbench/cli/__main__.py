"""`python -m pytest_ansorbench.cli`."""

import sys

from pytest_ansorbench.cli import main

if __name__ == "__main__":
    sys.exit(main())
