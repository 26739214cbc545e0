"""What a transmission uses is not deleted while GET shows it as submitted or being generated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib.core import clock
from chalicelib.transmissions import start as starting
from tests.fake_cloud import aws_requests
from tests.unit.calling import Client
from tests.unit.delivery.mail_host import MailHost
from tests.unit.moving_clock import Clock, moving_clock
from tests.unit.people import make_account, make_domain, make_key, make_subaccount
from tests.unit.queue_workers import work_off

NOW = 1_767_225_600.0
HOUR = 3600.0
CONTENT = {"from": "me@example.test", "subject": "Hello", "text": "Hello"}
TWO = [{"address": f"r{number}@inbox.test"} for number in range(2)]
TEMPLATE = "/api/v1/templates/welcome"
LIST = "/api/v1/recipient-lists/friends"


@pytest.fixture(autouse=True)
def time(cloud: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    MailHost().install(monkeypatch)
    with moving_clock(NOW) as moving:
        yield moving


@pytest.fixture
def client() -> Client:
    make_account()
    make_domain("example.test", shared_with_subaccounts=True)
    client = make_key()
    make_template(client)
    client.post("/api/v1/recipient-lists", {"id": "friends", "recipients": TWO})
    return client


def make_template(client: Client, **fields: Any) -> None:
    fields = {"id": "welcome", "content": CONTENT, "published": True} | fields
    assert client.post("/api/v1/templates", fields).status == 200


def send(client: Client, *, start: float = 0.0, **fields: Any) -> str:
    """Send the template to two recipients unless told; return the transmission's id."""
    options = {"start_time": clock.iso_offset(NOW + start)} if start else {}
    request_body = {"recipients": TWO, "content": {"template_id": "welcome"}, "options": options}
    return str(client.post("/api/v1/transmissions", request_body | fields).results["id"])


def state(client: Client, number: str) -> str:
    path = f"/api/v1/transmissions/{number}"
    return str(client.get(path).results["transmission"]["state"])


def is_protected(client: Client, path: str) -> bool:
    """Delete something; tell whether that was refused because it is in use."""
    response = client.delete(path)
    assert response.status in (200, 409), response
    if response.status == 409:
        assert response.error["code"] == "1602"
        assert "is in use by msg generation" in str(response.error)
    return response.status == 409


@pytest.mark.spec("3-t5")
@pytest.mark.parametrize("start", [0.0, HOUR])
def test_a_template_is_kept_until_its_transmission_is_generated(
    client: Client, time: Clock, start: float
) -> None:
    number = send(client, start=start)
    assert state(client, number) == "submitted"
    assert is_protected(client, TEMPLATE)
    time.now += 6 * HOUR  # the workers were down
    assert state(client, number) == "submitted"
    assert is_protected(client, TEMPLATE)
    work_off()
    assert state(client, number) == "Success"
    assert not is_protected(client, TEMPLATE)


@pytest.mark.spec("3-t5")
def test_a_template_is_kept_while_its_transmission_is_being_generated(
    client: Client, time: Clock
) -> None:
    number = send(client, start=HOUR)
    time.now += HOUR
    starting.start(number)
    assert state(client, number) == "Generating"
    assert is_protected(client, TEMPLATE)
    work_off()
    assert not is_protected(client, TEMPLATE)


@pytest.mark.spec("3-t5")
def test_a_cancelled_transmission_does_not_keep_its_template(client: Client) -> None:
    number = send(client, start=HOUR)
    assert client.delete(f"/api/v1/transmissions/{number}").status == 204
    assert not is_protected(client, TEMPLATE)


def test_a_transmission_of_another_template_or_owner_does_not_keep_it(client: Client) -> None:
    subaccount = client.on_behalf_of(make_subaccount().id)
    make_template(subaccount)
    make_template(client, id="other")
    send(subaccount)
    send(client, content={"template_id": "other"})
    assert not is_protected(client, TEMPLATE)
    assert is_protected(subaccount, TEMPLATE)


@pytest.mark.parametrize("start", [0.0, HOUR])
def test_a_shared_template_is_kept_for_the_subaccounts_that_send_it(
    client: Client, start: float
) -> None:
    subaccount = client.on_behalf_of(make_subaccount().id)
    assert client.put(TEMPLATE, {"shared_with_subaccounts": True}).status == 200
    send(subaccount, start=start)
    make_template(subaccount)
    assert not is_protected(subaccount, TEMPLATE)
    assert is_protected(client, TEMPLATE)


def test_a_list_is_kept_until_its_transmission_is_generated(client: Client, time: Clock) -> None:
    number = send(client, recipients={"list_id": "friends"})
    time.now += 6 * HOUR  # the workers were down
    assert state(client, number) == "submitted"
    assert is_protected(client, LIST)
    starting.start(number)
    assert state(client, number) == "Generating"
    assert is_protected(client, LIST)
    assert client.put(LIST, {"recipients": TWO}).status == 409
    work_off()
    assert state(client, number) == "Success"
    assert client.put(LIST, {"recipients": TWO}).status == 200
    assert not is_protected(client, LIST)


@pytest.mark.cost
def test_sending_a_template_at_once_takes_no_lease(client: Client) -> None:
    send(client)  # which also notes the use of the template
    of_inline = requests_of(lambda: send(client, content=CONTENT))
    of_template = requests_of(lambda: send(client))
    assert [each for each in of_template if each != "GetItem"] == [
        each for each in of_inline if each != "GetItem"
    ]


def requests_of(act: Any) -> list[str]:
    with aws_requests() as requests:
        act()
    return [each.operation for each in requests]
