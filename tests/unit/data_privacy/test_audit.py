"""A request of recipients about their data is one line, which does not name them."""

from __future__ import annotations

import pytest

from tests.unit.audit_lines import only_line
from tests.unit.people import make_account, make_key

pytestmark = pytest.mark.usefixtures("cloud")


@pytest.mark.parametrize("kind", ["rtbf-request", "opt-out-request"])
def test_a_request_is_one_line_without_the_addresses(kind: str) -> None:
    make_account()
    client, addresses = make_key(), ["ann@x.test", "bob@x.test"]
    body = {"recipients": addresses, "include_subaccounts": True}
    for _ in range(2):
        assert client.post(f"/api/v1/data-privacy/{kind}", body).status == 200
        line = only_line()
        assert line["changes"]["recipients"]["to"] == 2
        assert line["changes"]["all_subaccounts"]["to"] is True
        assert not any(address in str(line) for address in addresses)
