"""Run the operator's tool: ``python -m infrastructure.admin``."""

import sys

from infrastructure.admin.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
