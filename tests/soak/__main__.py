"""Run the service under load while its processes are killed: ``make soak MINUTES=5 SEED=1``.

For half of the time the workers deliver, as functions do, and then the processes of the delivery
container. At the end of each half every accepted recipient is counted: in the sink, in events,
webhooks, metrics, the suppression list and the account's usage. Each message to an inbound domain
that got its 250 must have been posted to the relay webhook. The exit status is 1 if a message was
lost, if there are more duplicates than processes killed, or if two of these disagree.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.http_target import Target, serving
from tests.journey.service import Service
from tests.soak.balance import balance, unposted_ids
from tests.soak.faults import Faults
from tests.soak.load import INBOUND_DOMAIN, Load


class SoakService(Service):
    """The service with retries that follow each other closely, so that a run comes to its end."""

    def __init__(self, data_dir: Path, delivery: str) -> None:
        super().__init__(data_dir)
        self._delivery = delivery

    def start(self, **environment: str) -> None:
        """Start the service and wait until it is ready."""
        super().start(RETRY_CAP="4", DELIVERY=self._delivery, **environment)


def main() -> int:
    """Run the soak and print its figures."""
    parser = argparse.ArgumentParser(description="Kill processes under load, then count all mail.")
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    ways = ("function", "container")
    seconds = options.minutes * 60 / len(ways)
    return max([_soak(delivery, seconds, options.seed) for delivery in ways])


def _soak(delivery: str, seconds: float, seed: int) -> int:
    with (
        tempfile.TemporaryDirectory() as directory,
        SoakService(Path(directory), delivery) as service,
        serving() as target,
        serving() as relay_target,
    ):
        body = {
            "name": "Soak",
            "target": target.url,
            "events": ["injection", "delivery", "bounce"],
        }
        assert service.request("POST", "/api/v1/webhooks", body).status == 200
        _relay_to(service, relay_target)
        load, faults = Load(service, seed), Faults(service, seed)
        load.start()
        try:
            faults.run(seconds)
        finally:
            load.stop()
        result = balance(service, load, target)
        unposted = unposted_ids(load, relay_target)
    fault_counts = ", ".join(f"{name} {count}" for name, count in sorted(faults.counts.items()))
    print(f"DELIVERY={delivery}, faults: {fault_counts}")
    print(f"{result.accepted} recipients accepted, {result.arrived} messages arrived")
    print(f"{result.lost} lost, {result.duplicates} duplicates of {faults.kills} kills")
    posts = len(relay_target.batches())
    print(f"{len(load.received)} messages received, {posts} posts, {len(unposted)} not posted")
    for sentence in result.disagreements:
        print(f"disagreement: {sentence}")
    fails = unposted or result.lost or result.duplicates > faults.kills or result.disagreements
    print("FAILS" if fails else "holds")
    return int(bool(fails))


def _relay_to(service: Service, target: Target) -> None:
    body = {"name": "Soak", "target": target.url, "match": {"domain": INBOUND_DOMAIN}}
    for path, fields in (("inbound-domains", {"domain": INBOUND_DOMAIN}), ("relay-webhooks", body)):
        assert service.request("POST", f"/api/v1/{path}", fields).status == 200


if __name__ == "__main__":
    sys.exit(main())
