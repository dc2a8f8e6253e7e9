"""`python -m headway`: as the command `headway`."""

from headway.cli.app import main

if __name__ == "__main__":
    main()
