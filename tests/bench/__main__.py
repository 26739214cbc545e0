"""``make bench``: run the benchmarks named, or all of them, each printing its figures."""

from __future__ import annotations

import importlib
import pkgutil
import sys

import tests.bench


def main() -> None:
    """Run ``python -m tests.bench [name ...]``."""
    found = [m.name for m in pkgutil.iter_modules(tests.bench.__path__) if m.name[0] != "_"]
    for name in sys.argv[1:] or found:
        module = importlib.import_module(f"tests.bench.{name}")
        if hasattr(module, "main"):  # the others are what benchmarks share
            print(f"\n== {name}", flush=True)
            module.main()


if __name__ == "__main__":
    main()
