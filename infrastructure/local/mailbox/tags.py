"""Say which tags a message is given when it arrives, by its header, its addresses and its login.

=================== ======================= =====================================================
MAILBOX_TAGS_FROM   x-tags,plus-addresses   what gives tags: the header ``X-Tags``, what follows a
                                            ``+`` in an address, the ``login`` name; or ``none``
MAILBOX_TAGS_TITLES false                   whether tags of a header or an address begin with
                                            capital letters
=================== ======================= =====================================================

A tag has letters, digits, blanks and ``-_.@``, at most a hundred; anything else in it is read as a
blank. Tags that differ in case only are the same tag.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from chalicelib.mail_format.encoded_words import readable
from infrastructure.local.mailbox.header_fields import field, header_block
from infrastructure.local.mailbox.trace import Trace

HEADER, PLUS, LOGIN, NONE = "x-tags", "plus-addresses", "login", "none"

_SOURCES = (HEADER, PLUS, LOGIN)
_MOST_CHARACTERS = 100
_MOST_TAGS = 200
# A message that arrives must not take long, whatever is in its header
_MOST_OF_FIELD = 20_000
_OTHERS = re.compile(r"[^A-Za-z0-9\-_.@]+")
_BEFORE_ADDRESS = re.compile(r"[\s<>,]")
_WORD_START = re.compile(r"(?<![A-Za-z0-9])[a-z]")
_ADDRESS_FIELDS = ("From", "To", "Cc", "Bcc")


@dataclass(frozen=True, slots=True)
class TagChoices:
    """What gives tags; ``title_case`` is for those of a header or an address."""

    sources: frozenset[str] = frozenset({HEADER, PLUS})
    title_case: bool = False

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> TagChoices:
        """Return the choices of an environment; raises ValueError with one line for the user."""
        text = environ.get("MAILBOX_TAGS_FROM") or f"{HEADER},{PLUS}"
        sources = frozenset(each.strip() for each in text.lower().split(",")) - {NONE, ""}
        if unknown := sources - set(_SOURCES):
            choices = ", ".join((*_SOURCES, NONE))
            raise ValueError(f"MAILBOX_TAGS_FROM: {min(unknown)!r} is none of {choices}")
        return cls(sources, environ.get("MAILBOX_TAGS_TITLES", "").lower() == "true")


DEFAULT = TagChoices()


def tags_at_arrival(trace: Trace, message: bytes, choices: TagChoices = DEFAULT) -> list[str]:
    """Return the tags of a message that arrives, sorted; it takes microseconds."""
    return unique_tags(_texts(trace, header_block(message), choices))


def unique_tags(texts: Iterable[str]) -> list[str]:
    """Return the tags that texts stand for, sorted, each once; the first spelling counts."""
    tags: dict[str, str] = {}
    for text in islice(texts, _MOST_TAGS):
        if tag := clean_tag(text):
            tags.setdefault(tag.lower(), tag)
    return sorted(tags.values())


def clean_tag(text: str) -> str:
    """Return a text as a tag, empty if nothing of it can be one.

    >>> clean_tag(" Order: 17/b ")
    'Order 17 b'
    """
    return _OTHERS.sub(" ", text).strip()[:_MOST_CHARACTERS].strip()


def _texts(trace: Trace, headers: bytes, choices: TagChoices) -> Iterator[str]:
    fresh: list[str] = []
    if HEADER in choices.sources and b"tags" in headers.lower():
        fresh += readable(field(headers, "X-Tags")[:_MOST_OF_FIELD]).split(",")
    if PLUS in choices.sources:
        fresh += _after_plus(trace, headers)
    yield from map(_title, fresh) if choices.title_case else fresh
    if LOGIN in choices.sources:
        yield trace.login


def _after_plus(trace: Trace, headers: bytes) -> Iterator[str]:
    texts = trace.recipients
    if b"+" in headers:
        texts += tuple(field(headers, name)[:_MOST_OF_FIELD] for name in _ADDRESS_FIELDS)
    for text in texts:
        for piece in text.split("@")[:-1] if "+" in text else ():
            yield from _BEFORE_ADDRESS.split(piece)[-1].split("+")[1:]


def _title(text: str) -> str:
    return _WORD_START.sub(lambda match: match[0].upper(), text)
