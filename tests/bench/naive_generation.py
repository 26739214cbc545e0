"""Generate messages with well-known packages in the most straightforward way, for comparison.

The packages are Jinja2's sandbox with compiled templates, BeautifulSoup for links and pixels, the
standard library's ``EmailMessage``, and dkimpy.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate
from typing import Any

import dkim as dkimpy
from bs4 import BeautifulSoup
from jinja2.sandbox import SandboxedEnvironment

from tests.bench.sample_templates import Templates

_BASE = "http://localhost:8080"
_URL = re.compile(r"https?://\S+")
_HEADERS = [
    b"from",
    b"to",
    b"subject",
    b"date",
    b"list-unsubscribe",
    b"list-unsubscribe-post",
    b"feedback-id",
]


class NaiveGenerator:
    """Generates signed messages from one set of templates."""

    def __init__(self, templates: Templates, private_key: str) -> None:
        environment = SandboxedEnvironment()
        escaping = SandboxedEnvironment(autoescape=True)
        self._subject = environment.from_string(templates.subject)
        self._html = escaping.from_string(templates.html)
        self._text = environment.from_string(templates.text)
        self._key = private_key.encode()

    def generate(self, index: int, recipient: dict[str, Any]) -> bytes:
        """Return the message to a recipient."""
        data = recipient["substitution_data"] | {"email": recipient["email"]}
        text = _URL.sub(lambda url: _link("c", index, url[0]), self._text.render(data))
        message = EmailMessage(policy=SMTP)
        message["From"] = "The Shop <news@mail.example.test>"
        message["To"] = recipient["email"]
        message["Subject"] = self._subject.render(data)
        message["Date"] = formatdate(1_769_850_000)
        message["Message-ID"] = f"<{index}@mail.example.test>"
        message["List-Unsubscribe"] = f"<{_link('u', index, '')}>, <mailto:u@mail.example.test>"
        message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
        message["Feedback-ID"] = "spring:account-1:bulk:postfinch"
        message.set_content(text)
        message.add_alternative(self._rewrite_html(index, data), subtype="html")
        raw = message.as_bytes()
        options: Any = {
            "include_headers": _HEADERS,
            "canonicalize": (b"relaxed", b"relaxed"),
        }
        return dkimpy.sign(raw, b"s1", b"mail.example.test", self._key, **options) + raw

    def _rewrite_html(self, index: int, data: dict[str, Any]) -> str:
        soup = BeautifulSoup(self._html.render(data), "html.parser")
        for link in soup.find_all("a", href=True):
            link["href"] = _link("c", index, str(link["href"]))
        body = soup.body or soup
        for place, kind in ((0, "i"), (len(body.contents) + 1, "o")):
            pixel = soup.new_tag("img", src=_link(kind, index, ""), width="1", height="1")
            body.insert(place, pixel)
        return str(soup)


def _link(kind: str, index: int, target: str) -> str:
    body = json.dumps([kind, index, target]).encode()
    tag = hmac.digest(b"key", body, hashlib.sha256)[:12]
    return f"{_BASE}/t/{kind}/{base64.urlsafe_b64encode(body + tag).decode()}"
