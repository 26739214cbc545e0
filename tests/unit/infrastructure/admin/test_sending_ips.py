"""Test the commands of the operator's tool for sending IPs."""

from __future__ import annotations

from typing import Any

import pytest

from chalicelib.fleet import store
from infrastructure.admin import cli, container_queues
from tests.unit.fleet.examples import make_pool
from tests.unit.people import make_account

pytestmark = pytest.mark.usefixtures("cloud")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    make_account()

    def command(*arguments: str, status: int = 0) -> str:
        capsys.readouterr()
        assert cli.main(arguments) == status
        output = capsys.readouterr()
        return output.err if status else output.out

    return command


def test_an_ip_is_added_listed_and_removed(run: Any) -> None:
    run("add-sending-ip", "1", "192.0.2.2", "mta2.test")
    (ip,) = store.get(1).ips
    assert (ip.ip_pool, ip.customer_provided, ip.auto_warmup_enabled) == ("default", False, False)
    run("add-sending-ip", "1", "192.0.2.1", "mta1.test", "--source-address", "10.0.0.1")
    lines = run("list-sending-ips", "1").splitlines()
    assert lines == [
        "192.0.2.1\tmta1.test\tdefault\tno warm-up\tby 10.0.0.1",
        "192.0.2.2\tmta2.test\tdefault\tno warm-up\tby this host",
    ]
    assert run("remove-sending-ip", "1", "192.0.2.2") == "removed 192.0.2.2\n"
    assert run("list-sending-ips", "1").splitlines() == lines[:1]


def test_the_options_of_a_sending_ip_are_stored(run: Any) -> None:
    make_pool("Fast")
    options = ("--pool", "fast", "--customer-provided", "--auto-warmup", "--ses-pool", "dedicated")
    output = run("add-sending-ip", "1", "192.0.2.1", "mta1.test", *options)
    assert output == "192.0.2.1\tmta1.test\tfast\twarm-up stage 1\tby dedicated\n"
    (ip,) = store.get(1).ips
    assert (ip.customer_provided, ip.auto_warmup_enabled, ip.ses_pool) == (True, True, "dedicated")
    assert ip.advance_ms
    run("add-sending-ip", "1", "192.0.2.2", "mta2.test", "--smarthost", "relay.test:587")
    assert store.get(1).ips[1].smarthost == "relay.test:587"


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        (("add-sending-ip", "9", "192.0.2.1", "mta1.test"), "account 9 does not exist"),
        (("add-sending-ip", "1", "192.0.2", "mta1.test"), "not an IP address"),
        (("add-sending-ip", "1", "192.0.2.1", "mta1.test", "--pool", "x"), "no pool x"),
        (("add-sending-ip", "1", "192.0.2.5", "mta5.test"), "already"),
        (("add-sending-ip", "1", "192.0.2.1", "mta1.test", "--container", "n-small"), "container"),
        (("remove-sending-ip", "1", "192.0.2.9"), "no sending IP 192.0.2.9"),
        (("remove-sending-ip", "1", "nothing"), "not an IP address"),
    ],
)
def test_an_impossible_command_is_refused_with_the_reason(
    run: Any, arguments: tuple[str, ...], output: str
) -> None:
    run("add-sending-ip", "1", "192.0.2.5", "mta5.test")
    assert output in run(*arguments, status=1)
    assert len(store.get(1).ips) == 1


def test_no_queues_are_made_for_an_ip_that_is_refused(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(container_queues, "create", lambda container: 1 / 0)
    arguments = ("192.0.2.1", "mta1.test", "--container", "east", "--pool", "none")
    assert "no pool none" in run("add-sending-ip", "1", *arguments, status=1)


def test_an_ip_is_added_only_if_its_container_has_queues(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(container: str) -> None:
        raise OSError(f"no queues for {container}")

    monkeypatch.setattr(container_queues, "create", fail)
    with pytest.raises(OSError, match="no queues for east"):
        run("add-sending-ip", "1", "192.0.2.1", "mta1.test", "--container", "east")
    assert store.get(1).ips == ()
