"""The mail of a test as the local service shows it, with its checks, tags and inboxes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import pytest

from chalicelib.mail_verdicts import model
from infrastructure.local.gateway.checks_endpoint import ChecksEndpoint
from infrastructure.local.gateway.mailbox_endpoint import MailboxEndpoint
from infrastructure.local.mailbox.mailbox import SinkMailbox
from infrastructure.local.mailbox.trace import Trace
from infrastructure.local.messages import link_check, spam_check, web_probe
from infrastructure.local.messages.details import Detailer
from postfinch.http_api import Api, ApiError
from postfinch.testing import LinkStatus, Mailbox, Message, NeverHappened, SpamRule
from tests.unit.infrastructure.local.gateway.local_client import LocalClient

HTML = '<p style="border-radius: 4px">A <a href="https://shop.test/gone">shop</a></p>'


class LocalApiInProcess(Api):
    """The routes of a local service, and no other ones."""

    def __init__(self, client: LocalClient) -> None:
        super().__init__("http://localhost", "")
        self._client = client

    def document(self, method: str, path: str, body: Any = None, query: Any = None) -> Any:
        values = {name: value for name, value in (query or {}).items() if value is not None}
        reply = self._client.ask(method, f"{path}?{urlencode(values)}", body)
        document = json.loads(reply.body)
        if reply.status >= 400:
            raise ApiError(reply.status, document["errors"])
        return document


class Post:
    """A mailbox, and the API that shows it."""

    def __init__(self, root: Path, spam_check: str = "") -> None:
        self.mailbox = SinkMailbox(root)
        endpoint = MailboxEndpoint(self.mailbox, Detailer(self.mailbox, lambda _: {}))
        checks = ChecksEndpoint(self.mailbox, {}, spam_check)
        self.api = LocalApiInProcess(LocalClient([*endpoint.routes(), *checks.routes()]))

    def add(self, trace: Trace, html: str = HTML) -> None:
        head = "From: a@shop.test\r\nSubject: Order\r\nContent-Type: text/html\r\n\r\n"
        self.mailbox.store(trace, (head + html).encode())

    def message(self, html: str = HTML) -> Message:
        self.add(Trace("", ("ann@inbox.test",), inbox="shop"), html)
        return Mailbox(self.api, inbox="shop").wait_for(to="ann@inbox.test")


@pytest.fixture
def post(tmp_path: Path) -> Iterator[Post]:
    post = Post(tmp_path, "spamd://localhost")
    yield post
    post.mailbox.close()


def test_an_inbox_has_its_own_mail_with_recipients_and_tags(post: Post) -> None:
    post.add(Trace("", ("ann@a.test", "bob@b.test"), inbox="shop", tags=("order",)))
    post.add(Trace("", ("cat@c.test",), inbox="blog"))
    inbox = Mailbox(post.api, inbox="shop")
    message = inbox.wait_for(to="BOB@*")
    assert (message.recipients, message.tags) == (["ann@a.test", "bob@b.test"], ["order"])
    assert (message.inbox, len(inbox)) == ("shop", 1)
    with pytest.raises(NeverHappened, match=r"Message to ann@a\.test, bob@b\.test: 'Order'"):
        inbox.wait_for(to="cat@*", timeout=0)
    with pytest.raises(
        NeverHappened, match="in the inbox 'shpo'; inboxes with mail are 'blog', 'shop'"
    ):
        Mailbox(post.api, inbox="shpo").wait_for(timeout=0)
    inbox.clear()
    assert [each.to for each in Mailbox(post.api, inbox="blog")] == ["cat@c.test"]
    assert len(inbox) == 0


def test_the_html_check_names_what_clients_do_not_support(post: Post) -> None:
    check = post.message().checks.html
    assert 0 < check.unsupported <= check.unsupported + check.partial < 100
    assert check.supported == pytest.approx(100 - check.partial - check.unsupported)
    (radius,) = (each for each in check.warnings if each.feature == "css-border-radius")
    assert (radius.example, radius.uses) == ("border-radius: 4px", 1)
    assert radius.url == "https://www.caniemail.com/features/css-border-radius/"
    assert any(each.startswith("GMX") for each in radius.unsupported_by)
    notes = {each.note for each in radius.clients if each.support == "partial"}
    assert any("RoundRect element. See buttons.cm" in note for note in notes)


def test_features_that_do_not_weigh_in_the_score_are_apart(post: Post) -> None:
    check = post.message("<style>p > b { gap: 1px }</style><p><i>A</i></p>").checks.html
    assert "css-selector-child" in {each.feature for each in check.others}
    assert "css-selector-child" not in {each.feature for each in check.warnings}
    slugs = [each.feature for each in (*check.warnings, *check.others)]
    assert len(slugs) == len(set(slugs))
    assert all(each.supported < 100 for each in (*check.warnings, *check.others))


def test_a_message_without_html_has_no_check_of_it(post: Post) -> None:
    post.mailbox.store(Trace("", ("ann@a.test",), inbox="shop"), b"Subject: A\r\n\r\nText\r\n")
    message = next(iter(Mailbox(post.api, inbox="shop")))
    with pytest.raises(ApiError, match="the message has no HTML"):
        _ = message.checks.html


def test_the_link_check_tells_which_links_lead_nowhere(
    post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = {
        "https://shop.test/gone": (404, ""),
        "https://shop.test/old": (301, "/gone"),
        "https://shop.test/": (200, ""),
    }
    paths: list[str] = []

    def probe(method: str, url: str, until: float, *, private: bool) -> tuple[int, str]:
        paths.append(url)
        return answers[url]

    monkeypatch.setattr(web_probe, "probe", probe)
    links = [f'<a href="{url}">A</a>' for url in ("https://shop.test/", "https://shop.test/old")]
    checks = post.message(HTML + "".join(links)).checks
    assert checks.links.errors == [
        LinkStatus("https://shop.test/gone", 404, "Not Found", "https://shop.test/gone")
    ]
    assert [each.status_code for each in checks.links.links] == [404, 200, 301]
    paths.clear()
    assert checks.links.links
    assert paths == []
    assert [each.status_code for each in checks.links_and_redirects.links] == [404, 200, 404]
    assert link_check.MOST_REDIRECTS == 5


def test_the_spam_check_tells_score_and_rules(post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = (model.SpamRule("SUBJ", 2.5), model.SpamRule("BODY", 4.0))
    verdict = model.SpamVerdict(is_spam=True, score=6.5, rules=rules)
    service_settings = SimpleNamespace(spam_check="spamd://localhost", scan_timeout=1.0)
    monkeypatch.setattr(spam_check, "settings", lambda: service_settings)
    monkeypatch.setattr(
        spam_check, "_ask_spamd", lambda *_: (verdict, {"SUBJ": "A subject of spam"})
    )
    check = post.message().checks.spam
    assert (check.is_spam, check.score, check.error) == (True, 6.5, "")
    assert check.rules == (SpamRule("SUBJ", 2.5, "A subject of spam"), SpamRule("BODY", 4.0, ""))


def test_without_a_spam_filter_the_check_says_which_setting_is_missing(tmp_path: Path) -> None:
    post = Post(tmp_path)
    with pytest.raises(ApiError, match="no spam checker is set: SPAM_CHECK may name") as error:
        _ = post.message().checks.spam
    assert error.value.status == 409
    post.mailbox.close()
