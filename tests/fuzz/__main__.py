"""Give hostile bytes to every parser: ``python -m tests.fuzz --minutes 5``.

The time is divided among the parsers, or spent on those that are named. The first input that breaks
one is made small and printed; make a test of it beside the parser's other tests.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import traceback

from tests.environment import IN_PROCESS_CLOUD

os.environ.update(IN_PROCESS_CLOUD)

from hypothesis import HealthCheck, given, seed, settings

from tests.fuzz.mutations import mutated
from tests.fuzz.targets import TARGETS, Target

_EXAMPLES = 2_000


def fuzz(target: Target, seconds: float) -> int:
    """Try inputs for so long; return how many were tried. Raises what the check raised."""
    deadline = time.monotonic() + seconds
    tried = 0
    round_number = time.time_ns()

    def attempt(data: bytes) -> None:
        nonlocal tried
        tried += 1
        target.check(data)

    while time.monotonic() < deadline:
        round_number += 1
        strategy = given(mutated(target.seeds, target.words))
        rounds = settings(
            max_examples=_EXAMPLES,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        seed(round_number)(rounds(strategy(attempt)))()
    return tried


def main() -> int:
    """Fuzz all parsers, or those that the command line names; return 1 if one broke."""
    names = [target.name for target in TARGETS]
    parser = argparse.ArgumentParser(description="Give hostile bytes to every parser.")
    parser.add_argument("targets", nargs="*", help=f"default: all of {', '.join(names)}")
    parser.add_argument("--minutes", type=float, default=5.0)
    options = parser.parse_args()
    if unknown := set(options.targets) - set(names):
        parser.error(f"no parser is called {', '.join(sorted(unknown))}")
    targets = [each for each in TARGETS if not options.targets or each.name in options.targets]
    failures = 0
    for target in targets:
        try:
            tried = fuzz(target, options.minutes * 60 / len(targets))
            print(f"{target.name}: {tried} inputs", flush=True)
        except Exception:
            failures += 1
            print(f"{target.name}: BROKEN\n{traceback.format_exc()}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
