"""Send mail by the sending IPs of pools, and warm up a new IP."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.http_response import Response
from tests.journey.service import ROOT, Service, eventually
from tests.unit.delivery.scripted_server import ScriptedServer

DOMAIN = "pools-journey.test"
WARMING, WARM = "198.51.100.1", "198.51.100.2"
FIRST_DAY = 200


class Sender:
    """A separate account, so that other journeys do not use its sending IPs."""

    def __init__(self, service: Service) -> None:
        self._service = service
        output = dict(line.rsplit(" ", 1) for line in self.admin("create-account", "Pools"))
        self.account, self._key = output["account"], output["key"]

    def admin(self, *arguments: str) -> list[str]:
        """Run the operator's tool; return the lines that it prints."""
        process = subprocess.run(
            [sys.executable, "-m", "infrastructure.admin", "--local", *arguments],
            cwd=ROOT,
            env=os.environ | {"DATA_DIR": str(self._service.data_dir)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert process.returncode == 0, process.stderr
        return process.stdout.splitlines()

    def call(self, method: str, path: str, body: Any = None) -> Response:
        return self._service.request(method, f"/api/v1{path}", body, key=self._key)

    def results(self, method: str, path: str, body: Any = None) -> Any:
        response = self.call(method, path, body)
        assert response.status == 200, response.body
        return response.json["results"]

    def verify_domain(self) -> None:
        self.results("POST", "/sending-domains", {"domain": DOMAIN})
        self.results("POST", f"/sending-domains/{DOMAIN}/verify", {"dkim_verify": True})

    def send(self, count: int, name: str, **options: Any) -> str:
        body = {
            "options": options,
            "recipients": [{"address": f"{name}{n}@inbox.test"} for n in range(count)],
            "content": {"from": f"a@{DOMAIN}", "subject": "Pools", "text": "Hello"},
        }
        return self.results("POST", "/transmissions", body)["id"]

    def deliveries(self, transmission: str, count: int) -> Counter[tuple[str, str]]:
        """Wait for ``count`` deliveries; return their numbers by pool and IP."""
        path = f"/events/message?transmissions={transmission}&events=delivery&per_page=1000"

        def events_if_complete() -> list[Any]:
            events = self.results("GET", path)
            return events if len(events) >= count else []

        return Counter(
            (each["ip_pool"], each["sending_ip"]) for each in eventually(events_if_complete)
        )


@pytest.fixture(scope="module")
def sender(service: Service) -> Sender:
    sender = Sender(service)
    sender.verify_domain()
    return sender


@pytest.fixture
def hosts() -> Iterator[tuple[ScriptedServer, ScriptedServer]]:
    """The hosts to which the two sending IPs deliver."""
    with ScriptedServer() as one, ScriptedServer() as two:
        yield one, two


@pytest.mark.spec("4.7-t1")
@pytest.mark.spec("4.7-t2")
@pytest.mark.spec("4.7-t3")
@pytest.mark.spec("4.7-t5")
@pytest.mark.spec("2.8-t1")
@pytest.mark.spec("2.8-t5")
@pytest.mark.spec("2.8-t6")
def test_a_new_ip_sends_its_daily_volume_and_the_overflow_pool_the_rest(
    sender: Sender, hosts: tuple[ScriptedServer, ScriptedServer]
) -> None:
    assert sender.results("POST", "/ip-pools", {"name": "Spare"}) == {"id": "spare"}
    pool = {"name": "New IPs", "auto_warmup_overflow_pool": "spare", "signing_domain": DOMAIN}
    assert sender.results("POST", "/ip-pools", pool) == {"id": "new_ips"}
    for pool_id, address, host in (("spare", WARM, hosts[1]), ("new_ips", WARMING, hosts[0])):
        options = ("--pool", pool_id, "--smarthost", f"127.0.0.1:{host.port}")
        warmup = ["--auto-warmup"] if address == WARMING else []
        name = f"{pool_id.replace('_', '-')}.{DOMAIN}"
        sender.admin("add-sending-ip", sender.account, address, name, *options, *warmup)

    transmission = sender.send(FIRST_DAY + 20, "warm", ip_pool="New_IPs")
    assert sender.deliveries(transmission, FIRST_DAY + 20) == {
        ("new_ips", WARMING): FIRST_DAY,
        ("spare", WARM): 20,
    }
    assert [len(host.contents) for host in hosts] == [FIRST_DAY, 20]
    for host, name in zip(hosts, ("new-ips", "spare"), strict=True):
        assert {each.commands[0] for each in host.conversations} == {f"EHLO {name}.{DOMAIN}"}

    assert sender.call("DELETE", "/ip-pools/new_ips").status == 204
    pools = sender.results("GET", "/ip-pools")
    assert [pool["id"] for pool in pools] == ["default", "spare"]
    assert pools[0]["ips"] == [
        {
            "external_ip": WARMING,
            "hostname": f"new-ips.{DOMAIN}",
            "auto_warmup_enabled": True,
            "auto_warmup_stage": 1,
        }
    ]
    path = f"/sending-ips/{WARMING}"
    message = {"message": "Updated Sending IP."}
    assert sender.results("PUT", path, {"ip_pool": "spare"}) == message
    assert sender.results("GET", path)["ip_pool"] == "spare"
