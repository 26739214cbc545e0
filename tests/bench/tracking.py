"""Measure rewriting links, adding pixels and serving clicks and opens.

Run with `python -m tests.bench.tracking`.
"""

from __future__ import annotations

import base64
import os
import random
import re
from itertools import count
from time import process_time

from chalicelib.core import clock, ids
from chalicelib.core.http import App
from chalicelib.events import stream
from chalicelib.tracking import tokens, user_agents
from chalicelib.tracking.model import Link, Message
from chalicelib.tracking.rewrite import LinkRewriter, TrackingOptions
from chalicelib.tracking.routes import routes
from chalicelib.tracking.store import message_context
from chalicelib.tracking.tokens import LinkPart, MessageTokens
from tests.bench.sample_messages import WORDS
from tests.bench.timing import rates
from tests.unit.core.gateway_events import event

BASE = "https://links.example.test"
TRANSMISSION = "191930000000000001"
LINKS = 25


def newsletter() -> tuple[str, str]:
    """Return 20 KB of html and 5 KB of text with 25 links each."""
    rng = random.Random(1)
    html = ['<!DOCTYPE html>\n<html><head><title>News</title></head>\n<body bgcolor="#ffffff">\n']
    text = []
    for number in range(LINKS):
        url = f"https://shop.example.com/products/{number}?utm_source=newsletter&utm_medium=email"
        html.append('<table width="100%" cellpadding="0"><tr><td align="left" class="cell">\n')
        for _ in range(5):
            words = " ".join(rng.choices(WORDS, k=12))
            html.append(f'  <p class="item" style="margin: 0 0 1em">{words}</p>\n')
        escaped = url.replace("&", "&amp;")
        html.append(
            f'  <a class="button" href="{escaped}&amp;id=4711">Look</a>\n</td></tr></table>\n'
        )
        text.append(f"{' '.join(rng.choices(WORDS, k=14))}\n{url}&id=4711\n\n")
    return "".join([*html, "</body></html>\n"]), "".join(text)


def message(index: int = 7) -> MessageTokens:
    """Return the tokens of one message."""
    address = f"recipient-{index}@example.com"
    expires = tokens.last_day(clock.now_ms())
    return MessageTokens(Message(1, None, ids.message_id(TRANSMISSION, index), 0, address, expires))


def main() -> None:
    """Print the rates of one core."""
    os.environ.setdefault("SECRET_KEY", base64.b64encode(bytes(32)).decode())
    _rewriting()
    _hostile()
    _endpoints()
    _message_context()


def _rewriting() -> None:
    html, text = newsletter()
    size = f"{len(html) / 1000:.0f} KB, {LINKS} links"
    common, personal, issuer = LinkRewriter(BASE), LinkRewriter(BASE), message()
    numbers = count()

    def personal_html() -> str:
        return re.sub("4711", str(next(numbers)), html)

    speeds = rates(
        {
            "same links for all": lambda: common.html(html, issuer, TrackingOptions()),
            "different links for each": lambda: personal.html(
                personal_html(), issuer, TrackingOptions()
            ),
            "(replacing the links in the template)": personal_html,
            "with a new rewriter": lambda: LinkRewriter(BASE).html(html, issuer, TrackingOptions()),
            "text": lambda: common.text(text, issuer, TrackingOptions()),
            "tokens of a message": message,
        },
        rounds=7,
    )
    _report(f"tracking newsletter ({size})", speeds)
    growth = len(common.html(html, issuer, TrackingOptions())) - len(html)
    print(f"tracking newsletter grows by {growth / LINKS:.0f} bytes a link")


def _hostile() -> None:
    for unit in ("<a ", "<a b='", "<!--", '<p a="'):
        markup = unit * (200_000 // len(unit))
        began = process_time()
        LinkRewriter(BASE).html(markup, message(), TrackingOptions())
        print(f"tracking 200 KB of {unit!r}: {(process_time() - began) * 1000:.0f} ms")


def _endpoints() -> None:
    app = App("bench", authenticate=lambda request: None)  # type: ignore[arg-type,return-value]
    app.register_blueprint(routes)
    issuer = message()
    click_path = f"/t/c/{issuer.token_of(LinkPart(Link('https://shop.example.com/a?b=c', 'Shop')))}"
    open_path = f"/t/o/{issuer.token('t/o')}"
    emit, stream.emit = stream.emit, lambda events: None
    try:
        clicks, opens = (event(app, "GET", path, headers={}) for path in (click_path, open_path))
        agent = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Thunderbird/128.0"
        numbers = count()
        speeds = rates(
            {
                "click": lambda: app(clicks, None),
                "open": lambda: app(opens, None),
                "user agent": lambda: user_agents.parse(f"{agent} {next(numbers)}"),
            },
            rounds=7,
        )
    finally:
        stream.emit = emit
    _report("tracking endpoints without the queue", speeds)


def _message_context() -> None:
    rows = [(i, _event(i)) for i in range(100)]
    speeds = rates({"blocks of 100": lambda: message_context._encode(rows)}, rounds=5)
    _report(f"message context ({len(message_context._encode(rows)):,} bytes)", speeds)


def _event(index: int) -> dict[str, object]:
    address = f"recipient-{index}@example.com"
    return {
        "customer_id": "1",
        "campaign_id": "spring",
        "subject": f"News for {index}",
        "rcpt_to": address,
        "raw_rcpt_to": address,
        "rcpt_meta": {"id": index},
        "rcpt_tags": ["a"],
        "msg_from": f"b.{ids.message_id(TRANSMISSION, index)}.{index * 7919:016x}@b.example",
        "msg_size": str(20_000 + index),
    }


def _report(name: str, speeds: dict[str, float]) -> None:
    print(f"{name}: " + ", ".join(f"{task} {rate:,.0f}/s" for task, rate in speeds.items()))


if __name__ == "__main__":
    main()
