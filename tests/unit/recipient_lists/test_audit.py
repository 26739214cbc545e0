"""The audit log has the changes of recipient lists: of recipients, how many there are."""

from __future__ import annotations

import pytest

from tests.fake_cloud import aws_requests
from tests.unit.audit_lines import lines, told
from tests.unit.people import make_account, make_key

pytestmark = pytest.mark.usefixtures("cloud")

PATH = "/api/v1/recipient-lists"


def recipients(count: int) -> list[dict[str, str]]:
    return [{"address": f"u{n}@inbox.test"} for n in range(count)]


@pytest.mark.cost
def test_a_list_is_a_line_when_it_is_made_changed_and_deleted() -> None:
    make_account()
    client = make_key()
    body = {"id": "l1", "name": "Friends", "recipients": recipients(1500)}
    with aws_requests() as requests:
        assert client.post(PATH, body).status == 200
    assert [each.operation for each in requests].count("TransactWriteItems") == 1
    action, resource, name, changes = told()
    assert (action, resource, name) == ("POST", "recipient-lists", "l1")
    assert changes["total_accepted_recipients"] == {"from": None, "to": 1500}
    assert "u1@inbox.test" not in str(changes)
    assert client.put(f"{PATH}/l1", {"name": "Foes"}).status == 200
    assert told()[3] == {"name": {"from": "Friends", "to": "Foes"}}
    assert client.put(f"{PATH}/l1", {"recipients": recipients(1500)}).status == 200
    assert told()[3].keys() == {"recipients"}
    assert client.post(PATH, body).status == 400
    assert client.put(f"{PATH}/l2", {"name": "Foes"}).status == 404
    assert client.delete(f"{PATH}/l2").status == 404
    assert lines() == []
    assert client.delete(f"{PATH}/l1").status == 200
    action, *_, changes = told()
    assert (action, changes["name"]) == ("DELETE", {"from": "Foes", "to": None})
