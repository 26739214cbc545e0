from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import NoCredentialsError

from chalicelib.accounts.store import accounts
from chalicelib.api_keys.grants import PRIMARY_GRANTS, SUBACCOUNT_GRANTS
from chalicelib.core import settings
from infrastructure.admin import cli
from infrastructure.local.supervisor.cloud_access import aws_environment, draw_secret
from infrastructure.local.supervisor.ports import InternalPorts
from tests.free_ports import free_port
from tests.unit.calling import Client
from tests.unit.people import make_account, make_domain, make_subaccount, transmission

pytestmark = pytest.mark.usefixtures("cloud")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    def command(*arguments: str) -> str:
        capsys.readouterr()
        status = cli.main(arguments)
        output = capsys.readouterr()
        assert status == 0, output.err
        return output.out

    return command


@pytest.fixture
def refusal(capsys: pytest.CaptureFixture[str]) -> Any:
    def command(*arguments: str) -> str:
        assert cli.main(arguments) == 1
        return capsys.readouterr().err.strip()

    return command


def test_a_reader_that_has_seen_enough_ends_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as stdout, monkeypatch.context() as patch:
        patch.setattr("sys.stdout", stdout)
        assert cli.main(("list-provider-limits",)) == 1


def values(text: str) -> dict[str, str]:
    """Split lines such as ``key id 12`` at the last space into names and values."""
    parts = [line.rpartition(" ") for line in text.splitlines()]
    return {name: value for name, _, value in parts}


def test_an_account_is_created_with_a_key_that_can_do_everything(run: Any) -> None:
    output = values(run("create-account", "Example Ltd", "--country", "FR"))
    assert output["account"] == "1"
    client = Client(output["key"])
    view = client.get("/api/v1/account").results
    assert (view["company_name"], view["country_code"]) == ("Example Ltd", "FR")
    (key,) = client.get("/api/v1/api-keys").results
    assert (key["id"], set(key["grants"])) == (output["key id"], PRIMARY_GRANTS)
    assert values(run("create-account", "Another"))["account"] == "2"


def test_create_account_skips_a_number_that_is_taken(run: Any) -> None:
    make_account(1)
    assert values(run("create-account", "Example Ltd"))["account"] == "2"


@pytest.mark.spec("8-t2")
def test_a_new_plan_limits_an_account_at_once(run: Any) -> None:
    client = Client(values(run("create-account", "Example Ltd"))["key"])
    make_domain("example.test")
    run("set-plan", "1", "--monthly", "100")
    for _ in range(3):
        assert client.post("/api/v1/transmissions", transmission()).status == 200
    view = json.loads(run("set-plan", "1", "--daily", "4", "--service-level", "enterprise"))
    assert view["service_level"] == "enterprise"
    view = json.loads(run("set-plan", "1", "--hourly", "9", "--daily", "4", "--monthly", "50"))
    assert view["service_level"] == "enterprise"
    assert (view["subscription"]["plan_volume"], view["subscription"]["type"]) == (50, "manual")
    assert client.post("/api/v1/transmissions", transmission()).status == 200
    response = client.post("/api/v1/transmissions", transmission())
    assert (response.status, response.error["code"]) == (420, "2101")
    run("set-plan", "1")
    assert client.post("/api/v1/transmissions", transmission()).status == 200
    usage = json.loads(run("show", "1"))["usage"]
    assert (usage["day"]["used"], usage["day"]["limit"]) == (
        4,
        -1,
    )  # without limits its events count


@pytest.mark.spec("2.7-t10")
def test_a_plan_can_be_set_for_later(run: Any) -> None:
    run("create-account", "Example Ltd")
    view = json.loads(
        run("set-plan", "1", "--monthly", "9", "--name", "Large", "--effective", "2999-01-01")
    )
    assert view["subscription"]["code"] == "self-hosted"
    assert view["pending_subscription"] == {
        "code": "custom",
        "name": "Large",
        "effective_date": "2999-01-01T00:00:00.000Z",
    }
    assert "pending_subscription" not in json.loads(run("set-plan", "1"))


@pytest.mark.spec("3-t22")
@pytest.mark.spec("2.7-t5")
@pytest.mark.spec("2.7-t6")
def test_a_suspended_account_cannot_send_until_it_is_active_again(run: Any) -> None:
    client = Client(values(run("create-account", "Example Ltd"))["key"])
    make_domain("example.test")
    view = json.loads(run("set-status", "1", "suspended", "--reason", "NONPAYMENT"))
    assert (view["status"], view["status_reason_category"]) == ("suspended", "NONPAYMENT")
    response = client.post("/api/v1/transmissions", transmission())
    assert response.status == 403
    assert response.error["description"] == "the account is suspended and cannot send"
    assert client.get("/api/v1/account").results["status"] == "suspended"
    view = json.loads(run("set-status", "1", "active"))
    assert (view["status"], view["status_reason_category"]) == ("active", "")
    assert client.post("/api/v1/transmissions", transmission()).status == 200


@pytest.mark.spec("2.7-t14")
def test_a_pending_cancellation_is_set_and_withdrawn(run: Any) -> None:
    run("create-account", "Example Ltd")
    view = json.loads(run("set-cancellation", "1", "--on", "2999-01-01", "--by", "ann"))
    pending = view["pending_cancellation"]
    assert pending["effective_date"] == "2999-01-01T00:00:00.000Z"
    assert pending["requesting_user"] == "ann"
    assert "pending_cancellation" not in json.loads(run("set-cancellation", "1"))


def test_accounts_are_listed(run: Any) -> None:
    run("create-account", "Example Ltd")
    run("create-account", "Another")
    run("set-status", "2", "terminated")
    assert run("list-accounts").splitlines() == [
        "1\tactive\tstandard\tExample Ltd",
        "2\tterminated\tstandard\tAnother",
    ]


def test_keys_are_created_listed_and_revoked(run: Any) -> None:
    run("create-account", "Example Ltd")
    number = make_subaccount().id
    subaccount_key = values(run("create-key", "1", "--subaccount", str(number)))
    key = values(
        run("create-key", "1", "--grants", "account/view", "--valid-ips", "198.51.100.1,::1")
    )
    assert Client(key["key"], source_ip="::1").get("/api/v1/account").status == 200
    assert Client(key["key"]).get("/api/v1/account").status == 403
    lines = run("list-keys", "1").splitlines()
    assert len(lines) == 3
    (line,) = run("list-keys", "1", "--subaccount", str(number)).splitlines()
    assert line.startswith(f"{subaccount_key['key id']}\t{subaccount_key['key'][:4]}")
    run("revoke-key", "1", key["key id"])
    assert Client(key["key"], source_ip="::1").get("/api/v1/account").status == 401
    assert len(run("list-keys", "1").splitlines()) == 2


def test_a_key_is_made_with_an_end_and_listed_with_its_last_use(run: Any) -> None:
    run("create-account", "Example Ltd")
    key = values(run("create-key", "1", "--expires-at", "2127-01-31T09:00:00+01:00"))
    first, line = run("list-keys", "1").splitlines()
    assert first.endswith("\tno end\tnever used")
    assert line.endswith("\tends 2127-01-31T08:00:00.000Z\tnever used")
    assert Client(key["key"]).get("/api/v1/account").status == 200
    assert "\tused 20" in run("list-keys", "1").splitlines()[1]


def test_a_key_of_a_subaccount_gets_only_the_grants_of_subaccounts(run: Any) -> None:
    run("create-account", "Example Ltd")
    make_subaccount()
    key = values(run("create-key", "1", "--subaccount", "1"))["key"]
    owner = Client(values(run("create-key", "1"))["key"])
    (view,) = owner.on_behalf_of(1).get("/api/v1/api-keys").results
    assert (view["short_key"], set(view["grants"])) == (key[:4], SUBACCOUNT_GRANTS)


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        (("show", "9"), "account 9 does not exist"),
        (("set-plan", "9"), "account 9 does not exist"),
        (("set-status", "9", "active"), "account 9 does not exist"),
        (("create-key", "9"), "account 9 does not exist"),
        (("create-key", "1", "--subaccount", "5"), "account 1 has no subaccount 5"),
        (("create-key", "1", "--grants", "rockets/launch"), "rockets/launch"),
        (("create-key", "1", "--valid-ips", "nowhere"), "nowhere"),
        (("create-key", "1", "--expires-at", "2020-01-01"), "must be in the future"),
        (("revoke-key", "1", "0" * 26), "account 1 has no key"),
    ],
)
def test_an_impossible_command_is_refused_with_the_reason(
    refusal: Any, arguments: tuple[str, ...], output: str
) -> None:
    make_account(1)
    assert output in refusal(*arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("dance",),
        ("set-plan", "1", "--daily", "-1"),
        ("set-plan", "1", "--daily", "many"),
        ("set-status", "1", "asleep"),
        ("set-cancellation", "1", "--on", "soon"),
    ],
)
def test_an_invalid_command_line_is_refused_with_usage(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit_info:
        cli.main(arguments)
    assert exit_info.value.code == 2
    assert "usage:" in capsys.readouterr().err


def test_every_command_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    output = capsys.readouterr().out
    for command in ("create-account", "set-plan", "set-status", "list-accounts", "revoke-key"):
        assert command in output
        with pytest.raises(SystemExit) as exit_info:
            cli.main([command, "--help"])
        assert exit_info.value.code == 0


def test_the_local_service_is_found_by_its_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [*settings.local_values(), *aws_environment("", "")]:
        monkeypatch.setenv(name, "to be restored")
    with socket.create_server(("127.0.0.1", 0)) as cloud:
        port = cloud.getsockname()[1]
        store_ports(tmp_path, port)
        secret = draw_secret(tmp_path)
        cli.use_local(tmp_path)
    assert os.environ["AWS_SECRET_ACCESS_KEY"] == secret
    assert os.environ["AWS_ENDPOINT_URL"] == f"http://127.0.0.1:{port}"
    assert settings.settings().stage == "local"


@pytest.mark.parametrize("started_before", [False, True])
def test_without_a_running_service_the_error_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: Any, *, started_before: bool
) -> None:
    if started_before:
        store_ports(tmp_path, free_port())
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    output = f"Nothing runs on `{tmp_path}/`; start it with `make run`."
    assert refusal("--local", "list-accounts") == output


def test_an_error_of_the_aws_client_is_reported_in_one_line(
    monkeypatch: pytest.MonkeyPatch, refusal: Any
) -> None:
    def unreachable() -> None:
        raise NoCredentialsError

    monkeypatch.setattr(accounts, "all_accounts", unreachable)
    output = "Unable to locate credentials (for the service that runs on this machine: --local)"
    assert refusal("list-accounts") == output


def store_ports(data_dir: Path, cloud: int) -> None:
    ports = {**dict.fromkeys(InternalPorts.__slots__, 1), "cloud": cloud}
    (data_dir / "ports.json").write_text(json.dumps(ports))


def test_a_plan_set_by_the_tool_is_stored(run: Any) -> None:
    run("create-account", "Example Ltd")
    run("set-plan", "1", "--hourly", "7")
    account = accounts.get(1)
    assert account is not None
    assert account.subscription is not None
    assert account.subscription.limits.hourly == 7
