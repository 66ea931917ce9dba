"""Run the `seismo` command as `python -m seismo`."""

import sys

from seismo.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
