"""`python -m seismo` is the `seismo` command."""

import sys

from seismo.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
