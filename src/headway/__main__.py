"""`python -m headway`: as the command `headway`."""

import sys

if sys.path and not sys.flags.safe_path:
    del sys.path[0]  # the current folder: modules of the project would take the place of others

from headway.cli.app import main

if __name__ == "__main__":
    main()
