"""Run two delivery containers, each with an address of its own, and see what leaves from where."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.container.engine import Engine
from tests.free_ports import free_port
from tests.journey.service import eventually
from tests.unit.delivery.scripted_server import ScriptedServer
from tests.unit.infrastructure.clouds import ROOT
from tests.unit.zones import Zone, served_zone

ADDRESSES = {"east": "127.0.0.2", "west": "127.0.0.3"}
MESSAGES = 5

# Queues a batch for each pool, as generation does
QUEUE = """
import sys
from dataclasses import replace
from chalicelib.delivery import delivery_batch
from chalicelib.delivery.route import first_container
from chalicelib.delivery.store.work_units import WorkUnit
from tests.unit.delivery.examples import batch_of
for number, pool in enumerate(sys.argv[2:]):
    batch = batch_of(int(sys.argv[1]), unit=WorkUnit("19193000000000000%d" % number, "0"))
    batch = replace(batch, event=batch.event | {"ip_pool": pool}, is_small=True)
    delivery_batch.queue(batch, first_container(batch))
"""

# The pools of an account are its own to make
POOLS = """
import sys
from dataclasses import replace
from chalicelib.fleet import store
from chalicelib.fleet.model import IpPool
for pool in sys.argv[1:]:
    store.change(1, lambda fleet: replace(fleet, pools=(*fleet.pools, IpPool(pool, pool))))
"""


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Zone]:
    yield from served_zone(monkeypatch)


def test_two_containers_send_from_their_own_addresses(
    engine: Engine, provisioned: dict[str, str], relay_image: str, zone: Zone
) -> None:
    environment = {
        **provisioned,
        "DELIVERY": "container",
        "TRANSPORT": "mx",
        "ALLOW_PRIVATE_ADDRESSES": "true",
        "DNS_SERVERS": os.environ["DNS_SERVERS"],
    }
    _python(environment, "-c", POOLS, *ADDRESSES)
    for number, (name, address) in enumerate(ADDRESSES.items(), start=1):
        _python(
            environment,
            *("-m", "infrastructure.admin", "add-sending-ip", "1", f"192.0.2.{number}"),
            *(f"mta{number}.example.test", "--pool", name),
            *("--source-address", address, "--container", name),
        )
    zone.set("example.test", ("MX", "10 mx.example.test"))
    zone.set("mx.example.test", ("A", "127.0.0.1"))
    with ExitStack() as stack:
        server = stack.enter_context(ScriptedServer())
        for name in ADDRESSES:
            engine.run(
                relay_image,
                environment
                | {
                    "PROGRAM": "outbound",
                    "DELIVERY_CONTAINER": name,
                    "DELIVERY_PROCESSES": "1",
                    "MX_PORT": str(server.port),
                    "RELAY_PORTS": str(free_port()),
                },
                *("--detach", f"--name={name}"),
            )
            stack.callback(engine.podman, "rm", "--force", "--time=0", name)
        _python(environment, "-c", QUEUE, str(MESSAGES), *ADDRESSES)
        eventually(lambda: len(server.contents) == MESSAGES * len(ADDRESSES))
        clients = [each.client for each in server.conversations]
        assert set(clients) == set(ADDRESSES.values())
        for name in ADDRESSES:
            engine.podman("healthcheck", "run", name)
            engine.podman("stop", "--time=20", name)
            status = engine.podman("inspect", "--format={{.State.ExitCode}}", name)
            assert status.strip() == "0", engine.logs(name)


def _python(environment: dict[str, str], *arguments: str) -> None:
    subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=os.environ | environment,
        check=True,
        timeout=60,
    )
