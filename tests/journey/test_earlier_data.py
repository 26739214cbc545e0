"""Start the service on data of an earlier version, read all of it, and send mail.

`tests/journey/earlier_data/fill.py` created the data with an earlier version and recorded the
responses of that version. Events and other records expire after days, so the service of this test
runs with a clock set to some minutes after the earlier service was stopped.
"""

from __future__ import annotations

import http.client
import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.http_target import serving
from tests.journey.earlier_data import fill
from tests.journey.earlier_data.archive import unpack
from tests.journey.service import Service, eventually

CLOCK = Path(fill.__file__).parent / "clock"
MINUTE = 60.0
CONTENTS: dict[str, Any] = {}
TRACKED_LINK = re.compile(rb"http://localhost:\d+(/t/c/[\w./-]+)")


@contextmanager
def upgraded_service(data_dir: Path, seconds_later: float) -> Iterator[Service]:
    """Run the current service on a copy of the earlier data, ``seconds_later`` than that."""
    service = Service(data_dir)
    unpack(data_dir)
    CONTENTS.update(json.loads((data_dir / fill.CONTENTS).read_text()))
    service.start(
        SECRET_KEY=fill.SECRET_KEY,
        PYTHONPATH=str(CLOCK),
        CLOCK_OFFSET=str(CONTENTS["at"] + seconds_later - time.time()),
    )
    try:
        yield service
    finally:
        service.stop()


@pytest.fixture(scope="module")
def upgraded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The service 45 minutes later, when the retry and the transmission ``due`` are due."""
    with upgraded_service(tmp_path_factory.mktemp("upgraded"), 45 * MINUTE) as service:
        yield service


def ids(name: str) -> str:
    """Return the id of something that the earlier version created."""
    return CONTENTS["ids"][name]


def stored_part(view: Any) -> Any:
    """Return a view without what is the service's own and not stored by an account.

    Each ``event_description`` is a text of the code. The sample template belonged to account 1 and
    now belongs to the service.
    """
    if isinstance(view, dict):
        description = {"event_description": ""} if "event_description" in view else {}
        return {name: stored_part(value) for name, value in view.items()} | description
    if isinstance(view, list):
        return [stored_part(each) for each in view if not is_sample(each)]
    return view


def without_additions(view: Any, earlier: Any) -> Any:
    """Return a view without the fields that the earlier version's did not have."""
    if isinstance(view, dict) and isinstance(earlier, dict):
        return {
            name: without_additions(value, earlier[name])
            for name, value in view.items()
            if name in earlier
        }
    if isinstance(view, list) and isinstance(earlier, list) and len(view) == len(earlier):
        return [without_additions(*pair) for pair in zip(view, earlier, strict=True)]
    return view


def is_sample(view: Any) -> bool:
    return isinstance(view, dict) and view.get("id") == "my-first-email"


def state(service: Service, transmission: str) -> str:
    response = service.request("GET", f"/api/v1/transmissions/{transmission}")
    return response.json["results"]["transmission"]["state"]


def test_everything_reads_as_the_earlier_version_showed_it(tmp_path: Path) -> None:
    with upgraded_service(tmp_path, 4 * MINUTE) as service:
        assert len(CONTENTS["views"]) > 25
        for path, expected in CONTENTS["views"].items():
            response = service.request("GET", path)
            assert response.status == 200, (path, response.body)
            here = f"http://localhost:{service.api_port}"
            earlier = json.loads(json.dumps(expected).replace(CONTENTS["url"], here))
            now, before = stored_part(response.json), stored_part(earlier)
            assert without_additions(now, before) == before, path


def test_a_message_that_was_due_for_a_retry_is_delivered(upgraded: Service) -> None:
    upgraded.arrived("defer@inbox.test")
    assert eventually(lambda: "delivery" in upgraded.event_types("defer@inbox.test"))


def test_a_scheduled_transmission_that_is_due_is_sent(upgraded: Service) -> None:
    for recipient in ("due-a@inbox.test", "due-b@inbox.test"):
        upgraded.arrived(recipient)
    assert eventually(lambda: state(upgraded, ids("due")) == "Success")


def test_a_transmission_scheduled_for_a_later_day_can_still_be_cancelled(upgraded: Service) -> None:
    assert state(upgraded, ids("later")) == "submitted"
    assert upgraded.request("DELETE", f"/api/v1/transmissions/{ids('later')}").status == 204


def test_a_link_in_an_old_message_still_leads_to_its_target(upgraded: Service) -> None:
    (raw,) = upgraded.arrived("open@inbox.test")
    link = TRACKED_LINK.search(raw.replace(b"=\r\n", b""))
    assert link is not None, raw
    connection = http.client.HTTPConnection("127.0.0.1", upgraded.api_port, timeout=120)
    connection.request("GET", link[1].decode())
    assert connection.getresponse().getheader("Location") == "https://shop.example/chairs"
    connection.close()
    eventually(lambda: "click" in upgraded.event_types("open@inbox.test"))


def test_the_stored_template_list_and_key_send_new_mail(upgraded: Service) -> None:
    body = {
        "content": {"template_id": "newsletter"},
        "recipients": [{"address": "new-reader@inbox.test"}],
    }
    body |= {"substitution_data": {"name": "Zoe"}}
    assert upgraded.request("POST", "/api/v1/transmissions", body).status == 200
    (raw,) = upgraded.arrived("new-reader@inbox.test")
    assert b"Subject: Hello Zoe" in raw
    assert f"d={fill.DOMAIN}".encode() in raw, "it is signed with the stored key"
    to_list = body | {"recipients": {"list_id": "readers"}}
    assert upgraded.request("POST", "/api/v1/transmissions", to_list).status == 200
    upgraded.arrived("reader-4@inbox.test", 2)
    sub = {"content": {"from": "a@example.test", "subject": "Sub", "text": "Hello"}}
    sub |= {"recipients": [{"address": "of-subaccount@inbox.test"}]}
    key = ids("subaccount_key")
    assert upgraded.request("POST", "/api/v1/transmissions", sub, key=key).status == 200
    upgraded.arrived("of-subaccount@inbox.test", 2)


def test_recipients_on_the_stored_suppression_list_get_no_new_mail(upgraded: Service) -> None:
    upgraded.send("gone-2@inbox.test")
    eventually(lambda: "bounce" in upgraded.event_types("gone-2@inbox.test"))
    assert upgraded.mailbox(to="gone-2@inbox.test") == []


def test_the_stored_webhook_gets_new_events(upgraded: Service) -> None:
    with serving() as target:
        path = f"/api/v1/webhooks/{ids('webhook')}"
        assert upgraded.request("PUT", path, {"target": target.url}).status == 200
        upgraded.send("hooked@inbox.test")
        eventually(
            lambda: any(
                event["rcpt_to"] == "hooked@inbox.test"
                for post in target.batches()
                for event in post.events()
            )
        )


def test_a_repeated_idempotency_key_replays_the_earlier_response(upgraded: Service) -> None:
    header = {"Idempotency-Key": fill.IDEMPOTENCY_KEY}
    response = upgraded.request("POST", "/api/v1/transmissions", fill.ONCE, headers=header)
    assert response.json["results"]["id"] == ids("once")
    assert len(upgraded.mailbox(to="once@inbox.test")) == 1
