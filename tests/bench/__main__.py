"""Run benchmarks by name, or all of them (``make bench``); each prints its figures.

Each runs in a separate process, so that memory that one leaves behind does not count in the next
one's figures.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import subprocess
import sys

import tests.bench

_ABOUT = "Run benchmarks, all of them without a name; each prints its figures."


def main() -> int:
    """Run the benchmarks of the command line; return 1 if one of several could not be run."""
    modules = [m.name for m in pkgutil.iter_modules(tests.bench.__path__) if m.name[0] != "_"]
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=_ABOUT)
    # Not `choices`: with them argparse refuses a command line without a name
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(modules))
    names = parser.parse_args().names
    if unknown := [name for name in names if name not in modules]:
        parser.error(f"there is no {unknown[0]}")
    if len(names) == 1:
        _run(names[0])
        return 0
    command = [sys.executable, "-m", "tests.bench"]
    failed = [name for name in names or modules if subprocess.run([*command, name]).returncode]
    return int(bool(failed))


def _run(name: str) -> None:
    module = importlib.import_module(f"tests.bench.{name}")
    if hasattr(module, "main"):  # the other modules are shared by benchmarks
        print(f"\n== {name}", flush=True)
        module.main()


if __name__ == "__main__":
    sys.exit(main())
