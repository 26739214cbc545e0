"""Find links and images of messages as the recipient's mail client, and fetch them."""

import pytest

from infrastructure.local.sink.mail_client import (
    MailClient,
    NotLoopback,
    one_click_url,
)
from tests.unit.infrastructure.local.running import Web

CLIENT = MailClient()


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8080/x",
        "https://127.8.9.1/",
        "http://[::1]/",
        "http://localhost",
        "http://LOCALHOST./",
        "http://a.localhost/",
        "http://click.example.test:8080/",
    ],
)
def test_loopback_addresses_and_local_names_may_be_fetched(url: str) -> None:
    assert CLIENT.leads_here(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/",
        "http://localhost.example.com/",
        "http://127.0.0.1.example.com/",
        "http://127.0.0.1@example.com/",
        "http://192.168.0.1/",
        "http://169.254.169.254/",
        "http://0.0.0.0/",
        "http://127.1/",
        "http://2130706433/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::]/",
        "http://[::1",
        "http://localhost:x/",
        "http:///x",
        "file:///etc/passwd",
        "mailto:a@localhost",
        "//localhost/x",
        "cid:1@localhost",
        "",
    ],
)
def test_other_urls_are_not_fetched(url: str) -> None:
    assert not CLIENT.leads_here(url)
    with pytest.raises(NotLoopback):
        CLIENT.fetch(url)


@pytest.mark.parametrize(
    ("addresses", "leads_here"),
    [
        (["127.0.0.1"], True),
        (["192.0.2.1", "127.0.0.1"], True),
        (["192.0.2.1"], False),
        ([], False),
    ],
)
def test_a_name_may_be_fetched_that_leads_to_loopback_in_the_local_dns(
    addresses: list[str], leads_here: bool
) -> None:
    names: list[str] = []

    def addresses_of(name: str) -> list[str]:
        names.append(name)
        return addresses

    client = MailClient(addresses_of)
    assert client.leads_here("http://track.mycompany.com:8080/x") == leads_here
    assert names == ["track.mycompany.com"]


def test_further_names_lead_to_this_machine_without_a_lookup(web: Web) -> None:
    client = MailClient(lambda name: [], ("postfinch",))
    assert not client.leads_here("http://other/x")
    assert client.fetch(f"http://postfinch:{web.port}/x") == 302
    assert web.next_request().host == f"postfinch:{web.port}"


def test_a_fetch_from_a_name_goes_to_its_loopback_address(web: Web) -> None:
    client = MailClient(lambda name: ["192.0.2.1", "127.0.0.1"])
    assert client.fetch(f"http://track.mycompany.com:{web.port}/x") == 302
    assert web.next_request().host == f"track.mycompany.com:{web.port}"


def test_a_fetch_keeps_path_and_query_and_returns_the_status(web: Web) -> None:
    assert CLIENT.fetch(f"http://localhost:{web.port}/a%20b/é c?q=%26&r=1#x") == 302
    assert web.next_request().path == "/a%20b/%C3%A9%20c?q=%26&r=1"
    url = f"http://user:password@localhost:{web.port}"  # pragma: allowlist secret
    assert CLIENT.fetch(url) == 302
    request = web.next_request()
    assert (request.path, request.host) == ("/", f"localhost:{web.port}")


def html(body: str) -> bytes:
    return b"Content-Type: text/html; charset=utf-8\r\n\r\n" + body.encode()


def test_links_and_images_are_found_in_sloppy_html() -> None:
    message = html(
        "<A HREF = ' http://localhost/a?x=1&amp;y=2 '>a</a><img src=http://localhost/i>"
        "<a>none</a><img><a href=''>empty</a><!-- <img src=http://localhost/comment> --><a <img"
    )
    assert CLIENT.first_link(message) == "http://localhost/a?x=1&y=2"
    assert CLIENT.image_urls(message) == ["http://localhost/i"]


def test_a_message_without_html_has_no_images() -> None:
    assert CLIENT.image_urls(b"Subject: x\r\n\r\nhttp://localhost/\r\n") == []
    assert CLIENT.image_urls(b"") == []
    assert CLIENT.first_link(b"") is None


@pytest.mark.parametrize(
    ("headers", "url"),
    [
        ("List-Unsubscribe: <https://localhost/u>\r\n{post}", "https://localhost/u"),
        (
            "List-Unsubscribe: <mailto:x@a.test>,\r\n <http://localhost/u>\r\n{post}",
            "http://localhost/u",
        ),
        ("List-Unsubscribe: <mailto:x@a.test>\r\n{post}", None),
        ("List-Unsubscribe: <https://localhost/u>\r\n", None),
        ("{post}", None),
    ],
)
def test_one_click_needs_a_url_and_its_declaration(headers: str, url: str | None) -> None:
    post = "List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n"
    assert one_click_url(f"{headers.format(post=post)}\r\n".encode()) == url
