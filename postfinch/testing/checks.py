"""Check a message: how mail clients show it, where its links lead, and what a spam filter says."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from postfinch.http_api import Api

Support = Literal["yes", "partial", "no"]

_FIRST_ERROR = 400
_MARKUP = re.compile(r"<[^<>]*>")


@dataclass(frozen=True, slots=True)
class ClientSupport:
    """What one version of a mail client does with a feature.

    ``client`` is its name, such as ``Gmail iOS (2020-02)``; ``note`` may say more.
    """

    client: str
    support: Support
    note: str


@dataclass(frozen=True, slots=True)
class HtmlWarning:
    """A feature of HTML or CSS that some mail clients do not support.

    ``feature`` is its name at caniemail.com, ``example`` its first use in the message, ``uses`` how
    many there are. ``supported``, ``partial`` and ``unsupported`` are percentages of the clients.
    """

    feature: str
    title: str
    url: str
    example: str
    uses: int
    supported: float
    partial: float
    unsupported: float
    clients: tuple[ClientSupport, ...]

    @property
    def unsupported_by(self) -> list[str]:
        """The names of the clients that do not support the feature."""
        return [each.client for each in self.clients if each.support == "no"]


@dataclass(frozen=True, slots=True)
class HtmlCheck:
    """How well mail clients show the HTML of a message, in percent, as Mailpit counts it.

    ``warnings`` weigh in the percentages, the heaviest first; ``others`` do not.
    """

    supported: float
    partial: float
    unsupported: float
    nodes: int
    tests: int
    warnings: tuple[HtmlWarning, ...]
    others: tuple[HtmlWarning, ...]


@dataclass(frozen=True, slots=True)
class LinkStatus:
    """What a link answers; ``status_code`` is 0 without an answer, and ``status`` says why.

    ``target`` is what a tracked link leads to, which was requested instead; else the link itself.
    """

    url: str
    status_code: int
    status: str
    target: str

    @property
    def is_error(self) -> bool:
        """Whether a reader gets nothing there."""
        return self.status_code == 0 or self.status_code >= _FIRST_ERROR


@dataclass(frozen=True, slots=True)
class LinkCheck:
    """What the links of a message answer, in their order."""

    links: tuple[LinkStatus, ...]

    @property
    def errors(self) -> list[LinkStatus]:
        """The links that lead nowhere."""
        return [each for each in self.links if each.is_error]


@dataclass(frozen=True, slots=True)
class SpamRule:
    """A rule of the spam filter that applies to a message."""

    name: str
    score: float
    description: str


@dataclass(frozen=True, slots=True)
class SpamCheck:
    """What the spam filter says; ``error`` is why it says nothing, else empty."""

    is_spam: bool
    score: float
    error: str
    rules: tuple[SpamRule, ...]


class Checks:
    """The checks of one message. Each is made when it is first asked for."""

    def __init__(self, api: Api, path: str) -> None:
        self._api = api
        self._path = path

    @cached_property
    def html(self) -> HtmlCheck:
        """How well mail clients show the HTML; raises ApiError (409) if there is none."""
        check = self._api.get(f"{self._path}/html-check")
        return HtmlCheck(
            check["supported"],
            check["partial"],
            check["unsupported"],
            check["nodes"],
            check["tests"],
            tuple(map(_warning, check["warnings"])),
            tuple(map(_warning, check["others"])),
        )

    @cached_property
    def links(self) -> LinkCheck:
        """What the links answer; redirects are not followed."""
        return self._links()

    @cached_property
    def links_and_redirects(self) -> LinkCheck:
        """What the links answer after at most five redirects."""
        return self._links(follow="true")

    @cached_property
    def spam(self) -> SpamCheck:
        """What the spam filter says; raises ApiError (409) without the setting SPAM_CHECK."""
        check = self._api.get(f"{self._path}/spam-check")
        return SpamCheck(
            check["is_spam"],
            check["score"],
            check["error"],
            tuple(
                SpamRule(each["name"], each["score"], each["description"])
                for each in check["rules"]
            ),
        )

    def _links(self, **query: str) -> LinkCheck:
        check = self._api.get(f"{self._path}/link-check", **query)
        return LinkCheck(
            tuple(
                LinkStatus(
                    each["url"],
                    each["status_code"],
                    each["status"],
                    each.get("target") or each["url"],
                )
                for each in check["links"]
            )
        )


def _warning(warning: Mapping[str, Any]) -> HtmlWarning:
    notes = {number: _plain(note) for number, note in warning["notes"].items()}
    return HtmlWarning(
        warning["slug"],
        warning["title"],
        warning["url"],
        warning["example"],
        warning["found"],
        warning["supported"],
        warning["partial"],
        warning["unsupported"],
        tuple(
            ClientSupport(each["name"], each["support"], notes.get(each["note"], ""))
            for each in warning["results"]
        ),
    )


def _plain(text: str) -> str:
    """Return a text without its markup."""
    return html.unescape(_MARKUP.sub("", text))
