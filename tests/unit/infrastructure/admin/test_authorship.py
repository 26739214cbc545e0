"""The operator's commands are in the audit log of the account that they change."""

from __future__ import annotations

import getpass
import json
from pathlib import Path
from typing import Any

import pytest

from infrastructure.admin import authorship, cli, suppression
from tests.unit.audit_lines import lines, only_line, told
from tests.unit.people import make_account, make_domain, make_subaccount
from tests.unit.tracking_domains.examples import store_tracking_domain

pytestmark = pytest.mark.usefixtures("cloud")


@pytest.fixture(autouse=True)
def login(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SUDO_USER", raising=False)
    monkeypatch.setattr(getpass, "getuser", lambda: "root")


def run(*arguments: str) -> None:
    assert cli.main(arguments) == 0


def test_a_command_is_a_line_that_names_the_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    make_account()
    monkeypatch.setenv("SUDO_USER", "ada")
    run("set-status", "1", "suspended", "--reason", "NONPAYMENT")
    line = only_line()
    actor = (line["actor_type"], line["actor_id"], line["actor_label"])
    assert actor == ("operator", "ada", "postfinch admin set-status")
    assert (line["action"], line["path"]) == ("set-status", "postfinch admin set-status")
    assert (line["resource"], line["resource_id"]) == ("account", "1")
    assert line["changes"]["status"] == {"from": "active", "to": "suspended"}


def test_a_new_account_has_lines_of_itself_and_of_its_first_key_in_its_own_log(
    capsys: pytest.CaptureFixture[str],
) -> None:
    make_account()
    run("create-account", "Acme")
    number, secret, _ = [line.rpartition(" ")[2] for line in capsys.readouterr().out.splitlines()]
    account, key = lines(int(number))
    assert (account["resource"], key["resource"]) == ("account", "api-keys")
    assert account["changes"]["company_name"]["to"] == "Acme"
    assert key["changes"]["label"]["to"] == "First key"
    assert secret not in json.dumps([account, key], default=str)
    assert lines() == []


@pytest.mark.parametrize(
    ("arguments", "resource", "field"),
    [
        (("set-plan", "1", "--daily", "50"), "account", "subscription"),
        (("set-cancellation", "1", "--on", "2030-01-01"), "account", "pending_cancellation"),
        (("create-key", "1", "--label", "Ours"), "api-keys", "label"),
        (("add-sending-ip", "1", "192.0.2.1", "a.example.test"), "sending-ips", "hostname"),
        (("set-seeds", "a@b.test", "--account", "1"), "seeds", "addresses"),
    ],
)
def test_each_change_is_one_line(arguments: tuple[str, ...], resource: str, field: str) -> None:
    make_account()
    run(*arguments)
    action, log_resource, _, changes = told()
    assert (action, log_resource) == (arguments[0], resource)
    assert field in changes


def test_a_revoked_key_and_a_suspended_subaccount_are_lines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    make_account()
    number = str(make_subaccount().id)
    run("create-key", "1")
    name = only_line()["resource_id"]
    run("revoke-key", "1", name)
    assert told()[:3] == ("revoke-key", "api-keys", name)
    run("set-subaccount-compliance", "1", number, "suspended")
    changes = {"compliance_status": {"from": "active", "to": "suspended"}}
    assert told() == ("set-subaccount-compliance", "subaccounts", number, changes)


def test_a_blocked_name_is_in_the_log_of_each_account_with_such_a_domain() -> None:
    for number in (1, 2):
        make_account(number)
    make_domain("a.bad.test", 1)
    store_tracking_domain("t.bad.test", 2)
    run("block-domain", "bad.test")
    changes = {"compliance_status": {"from": "valid", "to": "blocked"}}
    assert told(1) == ("block-domain", "sending-domains", "a.bad.test", changes)
    assert told(2) == ("block-domain", "tracking-domains", "t.bad.test", changes)
    assert lines(0) == []


def test_commands_that_change_no_account_or_fail_are_no_line() -> None:
    make_account()
    run("list-accounts")
    run("set-seeds", "a@b.test")
    run("set-provider-limits", "example.test", "--connections", "2")
    assert cli.main(["revoke-key", "1", "none"]) == 1
    assert cli.main(["set-status", "9", "suspended"]) == 1
    assert [*lines(0), *lines(1), *lines(9)] == []


def test_an_operator_without_a_name_is_the_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    def nameless() -> str:
        raise OSError

    monkeypatch.setattr(getpass, "getuser", nameless)
    assert authorship.login_name() == "operator"


def test_an_imported_file_is_one_line_and_an_erased_address_is_not_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_account()
    monkeypatch.setattr(suppression, "_AT_A_TIME", 2)
    file = tmp_path / "list.csv"
    rows = [f"r{number}@b.test,transactional" for number in range(5)]
    file.write_text("\n".join(["recipient,type", *rows]))
    assert suppression.main(["import", str(file)]) == 0
    line: dict[str, Any] = only_line()
    assert (line["action"], line["resource"]) == ("import", "suppression-list")
    assert line["actor_label"] == "python -m infrastructure.admin.suppression import"
    assert line["changes"] == {"entries": {"from": None, "to": 5}}
    assert suppression.main(["erase", "r1@b.test", "r2@b.test"]) == 0
    line = only_line()
    assert line["changes"] == {"erased_recipients": {"from": None, "to": 2}}
    assert "r1@b.test" not in json.dumps(line, default=str)
    assert suppression.main(["export", str(tmp_path / "other.csv")]) == 0
    assert lines() == []
