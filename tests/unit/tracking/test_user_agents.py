from __future__ import annotations

import pytest

from chalicelib.tracking.user_agents import parse

EDGE_12 = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/42.0.2311.135 Safari/537.36 Edge/12.246"
)
IPHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_1 like Mac OS X) AppleWebKit/605.1.15 "
    "(KHTML, like Gecko) Mobile/15E148"
)
ANDROID = (
    "Mozilla/5.0 (Linux; Android 13; SM-S901B) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/112.0.0.0 Mobile Safari/537.36"
)
OUTLOOK = (
    "Mozilla/4.0 (compatible; MSIE 7.0; Windows NT 10.0; Microsoft Outlook 16.0.4266; ms-office)"
)


def test_the_user_agent_of_a_phone_is_parsed() -> None:
    assert parse(IPHONE) == {
        "agent_family": "Mobile Safari UI/WKWebView",
        "device_brand": "Apple",
        "device_family": "iPhone",
        "os_family": "iOS",
        "os_version": "17.1",
        "is_mobile": True,
        "is_proxy": False,
        "is_prefetched": False,
    }


def test_an_empty_user_agent_is_other() -> None:
    assert parse("") == {
        "agent_family": "Other",
        "device_brand": "Other",
        "device_family": "Other",
        "os_family": "Other",
        "os_version": "",
        "is_mobile": False,
        "is_proxy": False,
        "is_prefetched": False,
    }


@pytest.mark.parametrize(
    ("user_agent", "is_proxy", "is_prefetched"),
    [
        ("Mozilla/5.0", True, True),
        (f"{EDGE_12} Mozilla/5.0", True, True),
        (EDGE_12, False, False),
        (
            "Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 "
            "(via ggpht.com GoogleImageProxy)",
            True,
            False,
        ),
        ("YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html", True, False),
        ("Mozilla/5.0 (compatible; SeznamEmailProxy/2.0.165)", True, False),
        ("Mozilla/5.0 (Windows NT 6.1; WOW64) BingPreview/1.0b", False, True),
        ("Barracuda Sentinel (EE)", False, True),
        ("Microsoft Office Existence Discovery", False, True),
        ("Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)", False, True),
        ("Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", False, True),
        (OUTLOOK, False, False),
        (IPHONE, False, False),
        (ANDROID, False, False),
        ("python-requests/2.31", False, False),
    ],
)
def test_machines_are_distinguished_from_people(
    user_agent: str, is_proxy: bool, is_prefetched: bool
) -> None:
    fields = parse(user_agent)
    assert (fields["is_proxy"], fields["is_prefetched"]) == (is_proxy, is_prefetched)


def test_a_request_can_declare_itself_a_prefetch() -> None:
    assert parse(IPHONE, prefetch=True)["is_prefetched"] is True
    assert parse(IPHONE)["is_prefetched"] is False


def test_the_system_decides_what_is_mobile() -> None:
    assert parse(ANDROID)["is_mobile"] is True
    assert parse(ANDROID)["os_version"] == "13"
    assert parse(OUTLOOK)["is_mobile"] is False


def test_callers_may_change_the_result() -> None:
    parse(IPHONE)["is_mobile"] = None
    assert parse(IPHONE)["is_mobile"] is True
