from __future__ import annotations

import pytest

from chalicelib.tracking.mailbox_providers import OTHER, mailbox_provider


@pytest.mark.parametrize(
    ("domain", "provider", "region"),
    [
        ("gmail.com", "Gmail", "Global"),
        ("yahoo.com", "Yahoo", "Global"),
        ("yahoo.co.uk", "Yahoo", "Global"),
        ("hotmail.fr", "Hotmail / Outlook", "Global"),
        ("outlook.com", "Hotmail / Outlook", "Global"),
        ("live.com.au", "Hotmail / Outlook", "Global"),
        ("icloud.com", "Apple", "Global"),
        ("comcast.net", "Comcast", "North America"),
        ("web.de", "WEB.DE", "Europe"),
        ("qq.com", "QQ", "Asia Pacific"),
        ("uol.com.br", "UOL", "South America"),
    ],
)
def test_domains_of_large_providers_are_known(domain: str, provider: str, region: str) -> None:
    assert mailbox_provider(domain) == (provider, region)


@pytest.mark.parametrize(
    "domain", ["example.test", "", "gmail.com.evil.example", "mygmail.com", "live.tv", "com"]
)
def test_every_other_domain_is_other(domain: str) -> None:
    assert mailbox_provider(domain) == OTHER == ("Other", "Unknown")
