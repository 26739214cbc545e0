"""Request the links of a message, and say which of them lead nowhere.

- HEAD is tried first, and GET where a server may not know HEAD. No body is read.
- Redirects are followed only when that is asked for, at most five.
- A link of the service is not followed: it would count as a click. What it leads to is requested
  instead; an open pixel or an unsubscription is not requested at all.
- Private addresses are refused unless they are allowed (`web_probe`).
- There are limits for links, for all requests together, and for requests at the same time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final
from urllib.parse import urljoin

from chalicelib.core.text_urls import urls
from infrastructure.local.messages import web_probe
from infrastructure.local.messages.html import Html
from infrastructure.local.messages.links import service_link
from infrastructure.local.messages.markup_reader import MarkupReader
from infrastructure.local.messages.parts import HTML, TEXT, StoredMessage
from infrastructure.local.messages.web_probe import PrivateAddress, ProbeFailed

MOST_LINKS: Final = 200
MOST_REDIRECTS: Final = 5
#: For all links of a message
SECONDS: Final = 30.0
SECONDS_OF_ONE: Final = 8.0
_AT_ONCE: Final = 16
_CHECKS_AT_ONCE: Final = 2
#: Answers of servers that may not know HEAD, though they have the page
_HEAD_UNKNOWN: Final = (400, 403, 404, 405, 406, 500, 501)
_REDIRECTS: Final = (301, 302, 303, 307, 308)
_MOST_CHARACTERS: Final = 4_000_000
#: The status of a private address, as Mailpit has it
_BLOCKED: Final = 451
_WEB: Final = ("http://", "https://")

_turns = threading.BoundedSemaphore(_CHECKS_AT_ONCE)

#: Requests a URL by a method until a time of the monotonic clock: its status, and where it leads
Probe = Callable[[str, str, float], tuple[int, str]]


@dataclass(frozen=True, slots=True)
class LinkStatus:
    """What a link answers; ``status_code`` is 0 without a response, and ``status`` says why.

    ``target`` is what a tracked link leads to, which was requested instead of it.
    """

    url: str
    status_code: int
    status: str
    target: str | None = None

    @property
    def is_error(self) -> bool:
        """Tell whether a reader would get nothing there."""
        return self.status_code == 0 or self.status_code >= 400


class LinkChecker:
    """Checks links; ``private`` says that they may lead to private addresses."""

    def __init__(self, *, private: bool = False, probe: Probe | None = None) -> None:
        def request(method: str, url: str, until: float) -> tuple[int, str]:
            return web_probe.probe(method, url, until, private=private)

        self._probe = probe or request

    def check(self, message: StoredMessage, *, follow: bool = False) -> list[LinkStatus]:
        """Return the status of each link of a message, each once, in the order of the message."""
        links = web_links(message)
        until = time.monotonic() + SECONDS
        if not _turns.acquire(timeout=SECONDS):
            return [LinkStatus(url, 0, "other checks took too long") for url in links]
        try:
            with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="link-check") as threads:
                return list(threads.map(lambda url: self._status(url, until, follow=follow), links))
        finally:
            _turns.release()

    def _status(self, url: str, until: float, *, follow: bool) -> LinkStatus:
        link = service_link(url)
        if not link.tracked:
            return LinkStatus(url, *self._answer(url, until, follow=follow))
        if link.target is None:
            return LinkStatus(url, 200, "OK (of this service, and not followed)")
        if not link.target.lower().startswith(_WEB):
            return LinkStatus(url, 200, "OK (it leads to no web page)", link.target)
        code, text = self._answer(link.target, until, follow=follow)
        return LinkStatus(url, code, f"{text} (of what the link leads to)", link.target)

    def _answer(self, url: str, until: float, *, follow: bool) -> tuple[int, str]:
        """Return code and text of the last response."""
        for _ in range(MOST_REDIRECTS + 1):
            try:
                code, location = self._request(url, until)
            except PrivateAddress:
                return _BLOCKED, "Blocked private/reserved address"
            except ProbeFailed as error:
                return 0, str(error)
            if not follow or code not in _REDIRECTS or not location:
                return code, _phrase(code)
            url = _joined(url, location)
            link = service_link(url)
            if link.tracked and link.target is None:
                return 200, "OK (it leads to this service, and is not followed)"
            url = link.target or url
        return 0, "too many redirects"

    def _request(self, url: str, until: float) -> tuple[int, str]:
        """Return status and redirect of a URL; raises ProbeFailed."""
        now = time.monotonic()
        if now >= until:  # not even a name is looked up any more
            raise ProbeFailed("not requested: the time for all links was over")
        end = min(until, now + SECONDS_OF_ONE)
        code, location = self._probe("HEAD", url, end)
        if code in _HEAD_UNKNOWN:
            code, location = self._probe("GET", url, end)
        return code, location


def web_links(message: StoredMessage) -> list[str]:
    """Return the links of a message that a reader's program opens by HTTP, each once."""
    links: dict[str, None] = {}
    for url in _urls(message):
        if url.lower().startswith(_WEB):
            links[url] = None
        if len(links) == MOST_LINKS:
            break
    return list(links)


def _urls(message: StoredMessage) -> Iterator[str]:
    html = message.body(HTML) or ""
    content = Html(html)
    yield from (link.url for link in content.links)
    yield from _StyleSheets(html).urls
    yield from (image.url for image in content.images)
    text = (message.body(TEXT) or "")[:_MOST_CHARACTERS]
    yield from (text[each.start : each.end] for each in urls(text))


class _StyleSheets(MarkupReader):
    """The addresses of style sheets that HTML links."""

    def __init__(self, html: str) -> None:
        self.urls: list[str] = []
        self.read(html[:_MOST_CHARACTERS])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect a link to a style sheet."""
        values = dict(attrs)
        if tag == "link" and "stylesheet" in (values.get("rel") or "").lower().split():
            self.urls.append((values.get("href") or "").strip())


def _joined(url: str, location: str) -> str:
    try:
        return urljoin(url, location)
    except ValueError:
        return location


def _phrase(code: int) -> str:
    try:
        return HTTPStatus(code).phrase
    except ValueError:
        return ""
