from __future__ import annotations

import pytest

from infrastructure.local.dns.recipient_domains import mail_records


@pytest.mark.parametrize("name", ["inbox.test", "inbox.example", "gmail.com.", "GMX.de"])
def test_domains_of_many_recipients_have_a_mail_host(name: str) -> None:
    assert mail_records(name) == [("MX", "10 postfinch.test")]


@pytest.mark.parametrize("name", ["nowhere.test", "shop.test", "gmial.com", "mx.inbox.test"])
def test_other_names_have_none(name: str) -> None:
    assert mail_records(name) is None
