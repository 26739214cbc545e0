"""Run the command ``postfinch`` as ``python -m postfinch``."""

from postfinch.commands import main

main()
