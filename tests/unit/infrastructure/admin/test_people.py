"""The operator invites, lists and removes users."""

from __future__ import annotations

import pytest

from chalicelib.users.store import users
from infrastructure.admin import cli
from tests.unit.audit_lines import lines
from tests.unit.calling import Client
from tests.unit.people import make_account, make_user, sign_in
from tests.unit.users.test_sign_in import PASSWORD, browser_of

pytestmark = pytest.mark.usefixtures("cloud")

ANN = "ann@acme.example"


def token_in(output: str) -> str:
    link = output.splitlines()[0]
    assert link.startswith("http://localhost:8080/console/#invitation=")
    return link.partition("=")[2]


def accept(token: str) -> int:
    body = {"password": PASSWORD, "name": "Ann"}
    return Client("").post(f"/api/v1/invitations/{token}", body).status


def test_the_first_administrator_signs_in_by_the_printed_link(
    capsys: pytest.CaptureFixture[str],
) -> None:
    make_account()
    assert users.count_administrators(1) == 0
    assert cli.main(["add-user", ANN, "--account", "1", "--role", "admin", "--name", "Ann"]) == 0
    token = token_in(capsys.readouterr().out)
    body = {"password": PASSWORD}
    browser = browser_of(Client("").post(f"/api/v1/invitations/{token}", body))
    assert browser.get("/api/v1/me").results["role"] == "admin"
    assert users.count_administrators(1) == 1
    _, line = sorted(lines(), key=lambda each: each["ts"])[-1], lines()[0]
    assert (line["actor_type"], line["action"]) == ("operator", "add-user")


def test_a_second_call_prints_a_new_link_and_the_former_one_stops(
    capsys: pytest.CaptureFixture[str],
) -> None:
    make_account()
    assert cli.main(["add-user", ANN]) == 0
    former = token_in(capsys.readouterr().out)
    assert cli.main(["add-user", ANN, "--role", "developer"]) == 0
    output = capsys.readouterr().out
    assert f"{ANN} (role admin) opens this link" in output  # the role stays
    token = token_in(output)
    assert accept(former) == 404
    assert accept(token) == 200
    assert cli.main(["add-user", ANN]) == 1
    assert "belongs to a user already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["add-user", "no address"], "not an email address"),
        (["add-user", ANN, "--account", "7"], "account 7 does not exist"),
        (["remove-user", ANN], "has no user"),
        (["reset-second-factor", "other@acme.example"], "has no user"),
    ],
)
def test_what_cannot_be_is_refused_with_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], text: str
) -> None:
    make_account()
    make_account(2)
    make_user(account=2, email="other@acme.example")
    assert cli.main(arguments) == 1
    assert text in capsys.readouterr().err


def test_users_are_listed_reset_and_removed(capsys: pytest.CaptureFixture[str]) -> None:
    make_account()
    make_user()
    user = make_user(email=ANN, totp=b"sealed")
    browser = sign_in(user, second_factor=True)
    assert cli.main(["list-users"]) == 0
    assert f"{user.id}\t{ANN}\tadmin\tactive\tprimary\tsecond factor" in capsys.readouterr().out
    assert cli.main(["reset-second-factor", ANN]) == 0
    assert browser.get("/api/v1/me").status == 401
    assert cli.main(["remove-user", ANN]) == 0
    assert users.get(user.id) is None
    assert {each["resource_id"] for each in lines() if each["actor_type"] == "operator"} == {
        user.id
    }


def test_the_last_administrator_is_not_removed(capsys: pytest.CaptureFixture[str]) -> None:
    make_account()
    make_user(email=ANN)
    assert cli.main(["remove-user", ANN]) == 1
    assert "last active administrator" in capsys.readouterr().err
