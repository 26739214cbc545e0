"""Run the service under load while its processes are killed: ``make soak MINUTES=5 SEED=1``.

At the end every accepted recipient is counted: in the sink, in events, webhooks, metrics, the
suppression list and the account's usage. The exit status is 1 if a message was lost, if there are
more duplicates than processes killed, or if two of these disagree.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.http_target import serving
from tests.journey.service import Service
from tests.soak.balance import balance
from tests.soak.faults import Faults
from tests.soak.load import Load


class SoakService(Service):
    """The service with retries that follow each other closely, so that a run comes to its end."""

    def start(self, **environment: str) -> None:
        """Start the service and wait until it is ready."""
        super().start(RETRY_CAP="4", **environment)


def main() -> int:
    """Run the soak and print its figures."""
    parser = argparse.ArgumentParser(description="Kill processes under load, then count all mail.")
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as directory,
        SoakService(Path(directory)) as service,
        serving() as target,
    ):
        body = {
            "name": "Soak",
            "target": target.url,
            "events": ["injection", "delivery", "bounce"],
        }
        assert service.request("POST", "/api/v1/webhooks", body).status == 200
        load, faults = Load(service, options.seed), Faults(service, options.seed)
        load.start()
        try:
            faults.run(options.minutes * 60)
        finally:
            load.stop()
        result = balance(service, load, target)
    fault_counts = ", ".join(f"{name} {count}" for name, count in sorted(faults.counts.items()))
    print(f"faults: {fault_counts}")
    print(f"{result.accepted} recipients accepted, {result.arrived} messages arrived")
    print(f"{result.lost} lost, {result.duplicates} duplicates of {faults.kills} kills")
    for sentence in result.disagreements:
        print(f"disagreement: {sentence}")
    fails = result.lost or result.duplicates > faults.kills or result.disagreements
    print("FAILS" if fails else "holds")
    return int(bool(fails))


if __name__ == "__main__":
    sys.exit(main())
