"""Receive the mail of an inbound domain as its relay webhook brings it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from urllib3 import HTTPHeaderDict

from postfinch.http_api import Api
from postfinch.json_types import Json
from postfinch.testing.post_target import PostTarget, is_signed
from postfinch.testing.waiting import TIMEOUT, wait_for


@dataclass(frozen=True, slots=True)
class Post:
    """One POST to a relay webhook: its headers, whose names may be in any case, and its body."""

    headers: HTTPHeaderDict
    body: bytes

    @property
    def payload(self) -> Json:
        """The ``relay_message`` of the body."""
        payload: Json = next(iter(json.loads(self.body)[0].values()))["relay_message"]
        return payload


class RelayWebhook:
    """An inbound domain of one test, whose messages are posted to the test's own process.

    ``bad_signatures`` counts posts whose signature was missing or wrong.
    """

    def __init__(self, api: Api, domain: str) -> None:
        self._api = api
        self._posts: list[Post] = []
        self._lock = threading.Lock()
        self._secret = ""
        self.bad_signatures = 0
        self.domain: str = api.post("/inbound-domains", {"domain": domain})["domain"]
        self._target = PostTarget(self._receive)
        match = {"protocol": "SMTP", "domain": self.domain}
        body = {"name": "pytest", "target": self._target.url, "match": match}
        self._id: str = api.post("/relay-webhooks", body)["id"]
        self._secret = api.post(f"/relay-webhooks/{self._id}/signing-secret")["signing_secret"]

    def __iter__(self) -> Iterator[Post]:
        with self._lock:
            return iter(self._posts.copy())

    def __len__(self) -> int:
        with self._lock:
            return len(self._posts)

    def wait_for(
        self,
        *,
        to: str = "*",
        from_: str = "*",
        subject: str = "*",
        id: str = "*",
        timeout: float = TIMEOUT,
    ) -> Post:
        """Wait for the post of a message; return it. ``*`` stands for any characters.

        ``from_`` is the address in From, and ``id`` the ``relay_id``.
        """

        def fits(payload: Json) -> bool:
            pairs = (
                (payload["rcpt_to"], to),
                (payload["friendly_from"], from_),
                (payload["content"]["subject"] or "", subject),
                (payload["relay_id"], id),
            )
            return all(fnmatchcase(text.casefold(), each.casefold()) for text, each in pairs)

        def look() -> Post | None:
            return next((each for each in self if fits(each.payload)), None)

        def instead() -> str:
            payloads = [each.payload for each in self]
            lines = [
                f"\n  {each['content']['subject']!r} to {each['rcpt_to']}" for each in payloads
            ]
            others = "".join(lines) or "\n  no posts at all"
            message = f"mail to {to} from {from_} with subject {subject}"
            return f"no post of {message} within {timeout} s, but:{others}"

        return wait_for(look, timeout, instead)

    def close(self) -> None:
        """Delete the relay webhook and the inbound domain, and stop listening."""
        self._api.delete(f"/relay-webhooks/{self._id}")
        self._api.delete(f"/inbound-domains/{self.domain}")
        self._target.close()

    def _receive(self, headers: Mapping[str, str], body: bytes) -> None:
        with self._lock:
            if not is_signed(self._secret, headers, body):
                self.bad_signatures += 1
            self._posts.append(Post(HTTPHeaderDict(headers), body))
