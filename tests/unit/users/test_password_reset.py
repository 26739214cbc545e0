"""A password is reset by a mailed link, and nothing tells which addresses have a user."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.generation_queue import send_small_batch
from chalicelib.users import sign_in as sign_in_service
from chalicelib.users.model import User
from chalicelib.users.store import users
from tests.fake_cloud import aws_requests, queued, sqs_event
from tests.unit.calling import Client, Response
from tests.unit.moving_clock import Clock, moving_clock
from tests.unit.people import make_account, make_user, sign_in
from tests.unit.users.mailbox import Mailbox, open_mailbox
from tests.unit.users.test_sign_in import HASH, PASSWORD, attempt

pytestmark = pytest.mark.usefixtures("cloud")

PATH = "/api/v1/password-reset"
NEW = "another long password"  # pragma: allowlist secret


@pytest.fixture
def clock() -> Iterator[Clock]:
    with moving_clock(1_700_000_000.0) as moving:
        make_account()
        yield moving


@pytest.fixture
def mailbox(clock: Clock) -> Iterator[Mailbox]:
    with open_mailbox() as mailbox:
        yield mailbox


def make_ann(**fields: Any) -> User:
    return make_user(email="Ann@acme.example", **({"password": HASH} | fields))


def ask(email: str = "ann@acme.example", number: int = 0) -> Response:
    return Client("").at(f"198.51.100.{number}").post(PATH, {"email": email})


def work() -> None:
    for body in queued("small-sends"):
        assert send_small_batch(sqs_event([body])) == {"batchItemFailures": []}


def redeem(token: str, password: str = NEW) -> Response:
    return Client("").post(f"{PATH}/{token}", {"password": password})


def test_a_link_resets_the_password_once_and_ends_all_sessions(mailbox: Mailbox) -> None:
    browser = sign_in(make_ann())
    assert ask("ANN@acme.example").status == 200
    work()
    ((to, _),) = mailbox.mails
    token = mailbox.token("reset")
    assert to == "Ann@acme.example"
    assert redeem(token, "short").status == 400
    response = redeem(token)
    assert response.status == 200
    assert response.cookies == []
    assert browser.get("/api/v1/me").status == 401
    assert attempt(password=PASSWORD).status == 401
    assert attempt(password=NEW).status == 200
    assert redeem(token).status == 404


def test_links_that_do_not_work_get_one_answer(mailbox: Mailbox, clock: Clock) -> None:
    user = make_ann()
    other = make_user(email="bob@acme.example")
    ask()
    work()
    former = mailbox.token("reset")
    ask(number=1)
    work()
    token = mailbox.token("reset")
    foreign = f"{other.id}.{token.partition('.')[2]}"
    answers = [redeem(each) for each in (former, foreign, f"{user.id}.{'A' * 43}", "x")]
    clock.passes(3600)
    answers.append(redeem(token))
    assert {each.status for each in answers} == {404}
    assert len({str(each.body) for each in answers}) == 1
    assert attempt().status == 200


def test_only_active_users_get_a_mail(mailbox: Mailbox) -> None:
    make_user(email="new@acme.example", status="invited")
    make_user(email="off@acme.example", status="disabled", password=HASH)
    for number, name in enumerate(("new", "off", "nobody")):
        assert ask(f"{name}@acme.example", number).status == 200
    work()
    assert mailbox.mails == []


def test_a_user_who_was_disabled_meanwhile_cannot_use_the_link(mailbox: Mailbox) -> None:
    user = make_ann(role="developer")
    ask()
    work()
    users.change(user.id, lambda each: replace(each, status="disabled"))
    assert redeem(mailbox.token("reset")).status == 404


@pytest.mark.cost
def test_the_answer_and_its_work_are_the_same_for_every_address(clock: Clock) -> None:
    make_ann()
    answers, costs = [], []
    for number, email in enumerate(("ann@acme.example", "nobody@acme.example")):
        ask(email, 100 + number)  # fills the caches
        with aws_requests() as requests:
            answers.append(ask(email, number))
        costs.append([each.operation for each in requests])
    assert costs == [["BatchGetItem", "TransactWriteItems", "SendMessage"]] * 2
    assert answers[0].body == answers[1].body
    assert {each.status for each in answers} == {200}


def test_a_user_gets_three_mails_an_hour(mailbox: Mailbox, clock: Clock) -> None:
    make_ann()
    for number in range(5):
        assert ask(number=number).status == 200
    work()
    assert len(mailbox.mails) == 3
    clock.passes(3600)
    ask()
    work()
    assert len(mailbox.mails) == 4
    assert redeem(mailbox.token("reset")).status == 200


def test_a_network_that_asks_often_is_delayed(clock: Clock) -> None:
    statuses = [ask(f"{number}@acme.example").status for number in range(8)]
    assert statuses == [200] * 6 + [429] * 2
    assert int(ask().headers["Retry-After"]) == 2


def test_a_reset_does_not_pass_the_second_factor(
    mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_ann(totp=b"sealed")
    monkeypatch.setattr(sign_in_service, "use_code", lambda *_: False)
    ask()
    work()
    assert redeem(mailbox.token("reset")).status == 200
    assert attempt(password=NEW).error["code"] == "2fa_required"
