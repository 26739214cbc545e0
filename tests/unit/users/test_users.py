"""Users of an account are invited, changed and erased by those who hold what they give."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib.core import audit, clock, config_cache
from chalicelib.core.dynamo import Table
from chalicelib.users import invitations
from chalicelib.users.model import User
from chalicelib.users.store import sessions, users
from tests.unit.calling import Client
from tests.unit.moving_clock import moving_clock
from tests.unit.people import make_account, make_key, make_subaccount, make_user, sign_in
from tests.unit.users.mailbox import Mailbox, open_mailbox
from tests.unit.users.test_sign_in import PASSWORD, attempt, browser_of

pytestmark = pytest.mark.usefixtures("cloud")

PATH = "/api/v1/users"
MANAGER = ["users/manage", "users/view", "templates/view"]


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    make_account()
    with open_mailbox() as mailbox:
        yield mailbox


def invite(
    client: Client, email: str = "Bob@acme.example", role: str = "developer", **more: Any
) -> Any:
    return client.post(PATH, {"email": email, "role": role, **more})


def accept(token: str, password: str = PASSWORD, **more: Any) -> Any:
    return Client("").post(f"/api/v1/invitations/{token}", {"password": password, **more})


def present(user_id: str) -> User:
    user = users.get(user_id)
    assert user
    return user


def changes_of(user_id: str) -> list[Any]:
    table: Table[Any] = Table("audit")
    key = {"pk": audit.partition(1, clock.now_ms())}
    lines = list(table.query_all("#pk = :pk", key))
    return [
        (each["action"], json.loads(each["changes"]))
        for each in lines
        if each["resource_id"] == user_id
    ]


def test_an_invited_user_accepts_and_is_signed_in(mailbox: Mailbox) -> None:
    admin = sign_in(make_user(email="ann@acme.example"))
    results = invite(admin).results
    assert results["status"] == "invited"
    ((to, text),) = mailbox.mails
    token = mailbox.token()
    assert to == "Bob@acme.example"
    assert "Company 1" in text
    view = Client("").get(f"/api/v1/invitations/{token}").results
    assert view == {
        "email": "Bob@acme.example",
        "name": "",
        "role": "developer",
        "company_name": "Company 1",
    }
    response = accept(token, name="Bob", email="mallory@acme.example", role="admin")
    browser = browser_of(response)
    me = browser.get("/api/v1/me").results
    assert (me["email"], me["name"], me["role"]) == ("Bob@acme.example", "Bob", "developer")
    assert (me["id"], me["status"]) == (results["id"], "active")
    assert attempt("bob@ACME.example").status == 200


def test_an_invitation_works_once_for_72_hours_and_tells_nothing_else(mailbox: Mailbox) -> None:
    admin = make_key()
    with moving_clock(1_700_000_000.0) as moving:
        invite(admin)
        used, other = mailbox.token(), invite(admin, "c@acme.example").results["id"]
        late = mailbox.token()
        assert accept(used).status == 200
        foreign = f"{other}.{used.partition('.')[2]}"
        tokens = [used, foreign, f"{'0' * 20}.{'A' * 43}", "x", "%C3%A9", f"{late}x"]
        moving.passes(72 * 3600 - 1)
        assert Client("").get(f"/api/v1/invitations/{late}").status == 200
        moving.passes(1)
        answers = [Client("").get(f"/api/v1/invitations/{each}") for each in [*tokens, late]]
        answers += [accept(each) for each in [*tokens, late]]
    assert {each.status for each in answers} == {404}
    assert len({str(each.body) for each in answers}) == 1
    assert present(other).status == "invited"


def test_the_link_of_a_mail_does_not_follow_the_host_header(mailbox: Mailbox) -> None:
    key = make_key()
    headers: dict[str, str | list[str]] = {
        "Host": "evil.example",
        "X-Forwarded-Host": "evil.example",
        "Forwarded": "host=evil.example",
    }
    assert invite(Client(key.key, headers)).status == 200
    assert mailbox.token()
    assert "evil" not in str(mailbox.mails)


def test_a_weak_password_does_not_use_up_the_invitation(mailbox: Mailbox) -> None:
    invite(make_key())
    for weak in ("short", "qwerty123456", "bob@acme.example", "Company 1 2026"):
        assert accept(mailbox.token(), weak).status == 400
    assert accept(mailbox.token()).status == 200


def test_a_user_who_cannot_be_mailed_is_not_left_invited(mailbox: Mailbox) -> None:
    mailbox.refuses = True
    key = make_key()
    response = invite(key)
    assert (response.status, response.error["code"]) == (400, "1901")
    assert key.get(PATH).results == []
    mailbox.refuses = False
    assert invite(key).status == 200


def test_a_new_invitation_stops_the_former_link(mailbox: Mailbox) -> None:
    key = make_key()
    path = f"{PATH}/{invite(key).results['id']}/invitation"
    former = mailbox.token()
    assert key.post(path, None).status == 200
    assert accept(former).status == 404
    assert accept(mailbox.token()).status == 200
    assert key.post(path, None).status == 409


def test_an_address_belongs_to_one_user_of_the_service(mailbox: Mailbox) -> None:
    make_account(2)
    make_user(account=2, email="bob@Acme.example")
    response = invite(make_key())
    assert response.status == 409
    assert "2" not in str(response.body)
    assert mailbox.mails == []


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"role": "developer"}, "email"),
        ({"email": "no address", "role": "developer"}, "email"),
        ({"email": "bob@acme.example"}, "role"),
        ({"email": "bob@acme.example", "role": "owner"}, "role"),
        ({"email": "bob@acme.example", "role": "custom"}, "grants"),
        ({"email": "bob@acme.example", "role": "custom", "grants": []}, "grants"),
        ({"email": "bob@acme.example", "role": "custom", "grants": ["all"]}, "grants"),
        ({"email": "bob@acme.example", "role": "admin", "grants": ["smtp/inject"]}, "grants"),
        ({"email": "bob@acme.example", "role": "admin", "subaccount_id": 5}, "subaccount_id"),
        ({"email": "bob@acme.example", "role": "developer", "subaccount_id": 5}, "subaccount_id"),
        (
            {"email": "bob@acme.example", "role": "reporting", "subaccount_id": True},
            "subaccount_id",
        ),
        ({"email": "bob@acme.example", "role": "reporting", "name": "x" * 101}, "name"),
    ],
)
def test_a_fault_of_an_invitation_names_the_field(
    mailbox: Mailbox, body: dict[str, Any], param: str
) -> None:
    response = make_key().post(PATH, body)
    assert (response.status, response.error["param"]) == (400, param)
    assert mailbox.mails == []


def test_an_account_has_at_most_1000_users(
    mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(invitations, "MOST_USERS", 1)
    key = make_key()
    assert invite(key).status == 200
    assert invite(key, "c@acme.example").status == 409


def test_users_of_another_account_do_not_exist(mailbox: Mailbox) -> None:
    make_account(2)
    other = make_user(account=2)
    key = make_key()
    for method, path in (
        ("GET", ""),
        ("PUT", ""),
        ("DELETE", ""),
        ("POST", "/invitation"),
        ("DELETE", "/second-factor"),
        ("GET", "/sessions"),
        ("DELETE", "/sessions"),
        ("DELETE", "/sessions/x"),
    ):
        assert key.call(method, f"{PATH}/{other.id}{path}", {}).status == 404, (method, path)


def test_nobody_gives_what_they_do_not_hold(mailbox: Mailbox) -> None:
    manager = sign_in(make_user(role="custom", grants=tuple(MANAGER)))
    key = make_key(grants=MANAGER)
    reader = make_user(role="custom", grants=("templates/view",))
    for caller in (manager, key):
        assert invite(caller, role="admin").status == 403
        assert invite(caller, role="developer").status == 403
        assert invite(caller, role="custom", grants=["smtp/inject"]).status == 403
        path = f"{PATH}/{reader.id}"
        assert caller.put(path, {"role": "admin"}).status == 403
        assert caller.put(path, {"grants": ["templates/view", "smtp/inject"]}).status == 403
        assert caller.put(path, {"grants": ["users/manage"]}).status == 200
        assert caller.put(path, {"grants": ["templates/view"]}).status == 200
    assert mailbox.mails == []
    assert invite(key, role="custom", grants=["templates/view"]).status == 200


def test_nobody_changes_who_holds_more_than_they_do(mailbox: Mailbox) -> None:
    admin = make_user(totp=b"sealed")
    session = sign_in(admin, second_factor=True)
    manager = sign_in(make_user(role="custom", grants=tuple(MANAGER)))
    before = present(admin.id)
    path = f"{PATH}/{admin.id}"
    for method, target, body in (
        ("PUT", path, {"role": "reporting"}),
        ("PUT", path, {"status": "disabled"}),
        ("PUT", path, {"name": "x"}),
        ("DELETE", path, None),
        ("DELETE", f"{path}/second-factor", None),
        ("DELETE", f"{path}/sessions", None),
        ("DELETE", f"{path}/sessions/{sessions.of_user(admin)[0].id}", None),
        ("POST", f"{path}/invitation", None),
    ):
        assert manager.call(method, target, body).status == 403, (method, target)
    assert present(admin.id) == before
    assert session.get("/api/v1/me").status == 200


@pytest.mark.parametrize("role", ["developer", "templates", "reporting"])
def test_other_roles_do_not_see_or_change_users(mailbox: Mailbox, role: str) -> None:
    admin = make_user()
    browser = sign_in(make_user(role=role))
    assert browser.get(PATH).status == 403
    assert browser.put(f"{PATH}/{admin.id}", {"role": "reporting"}).status == 403
    assert browser.delete(f"{PATH}/{admin.id}/second-factor").status == 403
    assert (
        browser.put(f"{PATH}/{browser.get('/api/v1/me').results['id']}", {"role": "admin"}).status
        == 403
    )


@pytest.mark.parametrize(
    "body",
    [{"role": "reporting"}, {"status": "disabled"}, {"role": "reporting", "subaccount_id": 0}],
)
def test_the_last_administrator_stays(mailbox: Mailbox, body: dict[str, Any]) -> None:
    user = make_user()
    make_user(status="disabled")
    admin = sign_in(user)
    if body.get("subaccount_id") == 0:
        body = body | {"subaccount_id": make_subaccount().id}
    assert admin.put(f"{PATH}/{user.id}", body).status == 409
    assert make_key().delete(f"{PATH}/{user.id}").status == 409
    make_user()
    assert admin.put(f"{PATH}/{user.id}", body).status == 200


@pytest.mark.parametrize(
    "body",
    [
        {"role": "templates"},
        {"status": "disabled"},
        {"role": "custom", "grants": ["templates/view"]},
        {"subaccount_id": 0},
    ],
)
def test_a_change_of_what_a_user_may_do_ends_its_sessions(
    mailbox: Mailbox, body: dict[str, Any]
) -> None:
    user = make_user(role="developer")
    browser = sign_in(user)
    if "subaccount_id" in body:
        body = {"subaccount_id": make_subaccount().id}
    key = make_key()
    assert key.put(f"{PATH}/{user.id}", {"name": "Other"}).status == 200
    assert browser.get("/api/v1/me").results["name"] == "Other"
    assert key.put(f"{PATH}/{user.id}", body).status == 200
    assert browser.get("/api/v1/me").status == 401


def test_a_user_of_a_subaccount_is_untied_by_null(mailbox: Mailbox) -> None:
    one = make_subaccount().id
    user = make_user(role="developer", subaccount_id=one)
    key = make_key()
    refusal = key.put(f"{PATH}/{user.id}", {"role": "admin"})
    assert (refusal.status, refusal.error["param"]) == (400, "subaccount_id")
    body = {"role": "admin", "subaccount_id": None}
    assert key.put(f"{PATH}/{user.id}", body).results["subaccount_id"] is None


def test_an_invited_user_is_neither_enabled_nor_disabled(mailbox: Mailbox) -> None:
    key = make_key()
    user_id = invite(key).results["id"]
    for status in ("active", "disabled"):
        assert key.put(f"{PATH}/{user_id}", {"status": status}).status == 409
    assert key.put(f"{PATH}/{user_id}", {"role": "reporting"}).status == 200
    assert accept(mailbox.token()).status == 200


def test_with_the_subaccount_header_only_its_users_are_seen_and_managed(mailbox: Mailbox) -> None:
    one, two = make_subaccount().id, make_subaccount().id
    key = make_key()
    own = make_user(role="developer", subaccount_id=one)
    others = [make_user(), make_user(role="reporting", subaccount_id=two)]
    confined = key.on_behalf_of(one)
    assert [each["id"] for each in confined.get(PATH).results] == [own.id]
    assert len(key.get(PATH).results) == 3
    for other in others:
        assert confined.get(f"{PATH}/{other.id}").status == 404
        assert confined.delete(f"{PATH}/{other.id}").status == 404
    invited = invite(confined).results["id"]
    assert present(invited).subaccount_id == one
    for place in (None, two):
        refusal = invite(confined, f"{place}@acme.example", subaccount_id=place)
        assert refusal.status == 403
    assert confined.put(f"{PATH}/{own.id}", {"subaccount_id": None}).status == 403
    assert confined.delete(f"{PATH}/{own.id}").status == 204


def test_an_administrator_resets_a_second_factor(mailbox: Mailbox) -> None:
    user = make_user(role="developer", totp=b"sealed", recovery=("a",))
    browser = sign_in(user, second_factor=True)
    admin = sign_in(make_user())
    assert admin.delete(f"{PATH}/{user.id}/second-factor").status == 204
    after = present(user.id)
    assert not after.tfa_enabled
    assert after.recovery == ()
    assert browser.get("/api/v1/me").status == 401
    assert ("DELETE", {"tfa_enabled": {"from": True, "to": False}}) in changes_of(user.id)


def test_an_administrator_sees_and_ends_sessions_of_a_user(mailbox: Mailbox) -> None:
    user = make_user(role="developer")
    first, second = sign_in(user), sign_in(user)
    admin = sign_in(make_user())
    view = admin.get(f"{PATH}/{user.id}/sessions").results
    assert len(view) == 2
    assert not any(each["current"] for each in view)
    ended = view[0]["id"]
    assert admin.delete(f"{PATH}/{user.id}/sessions/{ended}").status == 204
    assert admin.delete(f"{PATH}/{user.id}/sessions/{ended}").status == 404
    assert sorted(each.get("/api/v1/me").status for each in (first, second)) == [200, 401]
    assert admin.delete(f"{PATH}/{user.id}/sessions").status == 204
    assert [each.get("/api/v1/me").status for each in (first, second)] == [401, 401]
    assert len(changes_of(user.id)) == 2


def test_an_erased_user_leaves_a_pseudonym_in_the_log(mailbox: Mailbox) -> None:
    admin = make_user(email="ann@acme.example", name="Ann Lee")
    user_id = invite(sign_in(admin), name="Bob Roe").results["id"]
    browser = browser_of(accept(mailbox.token(), name="Robert Roe"))
    browser.put("/api/v1/me", {"name": "Bob"})
    key_body = {"label": "made", "grants": ["templates/view"]}
    assert browser.post("/api/v1/api-keys", key_body).status == 200
    assert users.labels([user_id, admin.id]) == {
        user_id: "Bob@acme.example",
        admin.id: "ann@acme.example",
    }
    assert make_key().delete(f"{PATH}/{user_id}").status == 204
    assert browser.get("/api/v1/me").status == 401
    assert users.by_address("bob@acme.example") is None
    config: Table[Any] = Table("config")
    assert list(config.query_all("#pk = :pk", {"pk": f"user#{user_id}"})) == []
    assert users.labels([user_id]) == {user_id: f"user {user_id[:8]}"}
    (key_view,) = [
        each for each in make_key().get("/api/v1/api-keys").results if each["created_by"]
    ]
    assert key_view["created_by"]["label"] == f"user {user_id[:8]}"
    table: Table[Any] = Table("audit")
    key = {"pk": audit.partition(1, clock.now_ms())}
    log = str(list(table.query_all("#pk = :pk", key)))
    assert user_id in log
    for text in ("bob", "roe", "acme.example", "Ann"):
        assert text.lower() not in log.lower()
    config_cache.clear_cache()
    assert make_key().post(PATH, {"email": "bob@acme.example", "role": "reporting"}).status == 200
