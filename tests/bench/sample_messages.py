"""Build the sample content of benchmarks: a 20 KB newsletter and a 1 KB notice."""

import random
from typing import NamedTuple

from chalicelib.mail_format.headers import Address, encode_addresses, encode_header
from chalicelib.mail_format.mime import build_message

WORDS = [
    "the",
    "daily",
    "offer",
    "of",
    "our",
    "little",
    "shop",
    "brings",
    "garden",
    "chairs",
    "seeds",
    "lamps",
    "and",
    "books",
    "to",
    "your",
    "door",
]
UNSUBSCRIBE = "<https://u.example.test/f/a/" + "x" * 90 + ">, <mailto:u@example.test>"


class Sample(NamedTuple):
    """The rendered content of one message."""

    subject: str
    text: str
    html: str


def newsletter(extra: str = "é") -> Sample:
    """Return 15 KB of indented html and 4 KB of text; `extra` is the word outside ASCII."""
    rng = random.Random(1)
    lines = [_line(rng, indent=4 * rng.randrange(4)) for _ in range(280)]
    html = "<html><body>\n" + "\n".join(lines)[:15_000] + f"{extra}</body></html>\n"
    text = "\n".join(" ".join(rng.choices(WORDS, k=12)) for _ in range(70)) + f"\n{extra}\n"
    return Sample(f"News of the week {extra}", text, html)


def notice(extra: str = "é") -> Sample:
    """Return 0.4 KB of html and 0.2 KB of text."""
    rng = random.Random(2)
    html = f"<p>{' '.join(rng.choices(WORDS, k=70))}{extra}</p>\n"
    return Sample(f"Your order {extra}", " ".join(rng.choices(WORDS, k=35)) + extra + "\n", html)


def build(sample: Sample) -> bytes:
    """Assemble a message as the service does, headers included."""
    headers = [
        encode_addresses("From", [Address("The Shop", "news@example.test")]),
        encode_addresses("To", [Address("Zoë Müller", "zoe@example.net")]),
        encode_header("Subject", sample.subject),
        encode_header("Date", "Mon, 05 Jan 2026 09:00:00 +0000"),
        encode_header("Message-ID", "<4711@example.test>"),
        encode_header("List-Unsubscribe", UNSUBSCRIBE),
        encode_header("List-Unsubscribe-Post", "List-Unsubscribe=One-Click"),
    ]
    return build_message(headers, text=sample.text, html=sample.html, boundary_seed="4711").data


def _line(rng: random.Random, indent: int) -> str:
    return " " * indent + f'<p class="item">{" ".join(rng.choices(WORDS, k=8))}</p>'
