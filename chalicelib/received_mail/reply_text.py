"""Return what somebody wrote in a reply, without the message that it quotes and the signature.

The library mail-parser-reply knows how mail programs of many languages introduce what they quote.
Its regular expressions take more than linear time, so it gets a bounded text: the first
``MOST_LINES`` lines, without runs of blank lines, and with a mark in place of each long line.
"""

from __future__ import annotations

import re
from typing import Final

from chalicelib.mail_format.markup import text_of_markup
from chalicelib.received_mail.model import ParsedMessage

MOST_LINES: Final = 300
MOST_CHARACTERS: Final = 8_000

#: A line that introduces a quotation is shorter
_LONG_LINE: Final = 200
_MOST_MARKUP: Final = 256 * 1024
_MARK = re.compile("\ue000([0-9]+)\ue001")
_MARK_CHARACTERS = re.compile("[\ue000\ue001]")
_DAY_AND_ADDRESS = re.compile(r"[0-9].*@")
_QUOTED = re.compile(r"\s*>")
_SIGNATURE: Final = "--"

#: Words with which a mail program of a language introduces what it quotes, in lower case. The
#: library is asked only about the languages that occur: the signatures that it knows of one
#: language are words of another.
_LANGUAGES: Final = {
    "cs": ("napsal(a)", "odesláno:"),
    "da": ("skrev", "sendt:"),
    "de": ("schrieb", "gesendet:"),
    "es": ("escribió:", "enviado:"),
    "fr": ("a écrit", "envoyé "),
    "it": ("ha scritto:", "inviato:"),
    "ja": ("年",),
    "ko": ("작성하였습니다", "보낸"),
    "nl": ("schreef", "verzonden:"),
    "pl": ("napisał(a)", "nadesłał", "wysłano:"),
    "sv": ("skrev", "skickat:"),
    "zh": ("写道", "发件人"),
    "david": ("processed by david",),
}

#: One of them is in every text of which the library takes something away, if it is asked about
#: English only: in what introduces a quotation, in a signature, in a disclaimer. In lower case.
_ENGLISH: Final = (
    *("wrote:", "original message", "from:", "sent:", "to:", "subject:", "date:", "cc:"),
    *("organization:", "sent from my", "get outlook for", "best regards", "kind regards"),
    *("thanks,", "thank you,", "best,", "all the best", "regards,", "caution:", "disclaimer"),
    *("warning:", "confidential", "notice:", "note:", "information:"),
)
#: Hyphens or underscores that end a line, or are as many as Outlook draws
_RULE = re.compile("[-_]{2}(?:\n|[-_]{30})")
#: They match an i in a pattern that ignores case, and are no i when they are folded
_LETTERS_LIKE_I: Final = ("\u0130", "\u0131")


def of(parsed: ParsedMessage) -> str:
    """Return the reply in a message: from its text, or from its html if there is no text."""
    if parsed.text and parsed.text.strip():
        return _reply(parsed.text)
    return _reply(text_of_markup(parsed.html[:_MOST_MARKUP])) if parsed.html else ""


def _reply(text: str) -> str:
    lines = _without_blank_runs(_MARK_CHARACTERS.sub("", text).split("\n"))
    long_lines: list[str] = []
    head: list[str] = []
    room = MOST_CHARACTERS
    for line in lines[:MOST_LINES]:
        short = line
        if len(line) > _LONG_LINE:
            short = f"\ue000{len(long_lines)}\ue001"
            long_lines.append(line)
        room -= len(short) + 1
        if room < 0:
            break
        head.append(short)
    reply, is_whole = _read("\n".join(head))
    reply = _MARK.sub(lambda mark: long_lines[int(mark[1])], reply)
    rest = [] if is_whole else lines[len(head) :]
    return "\n".join(_without_end([*reply.split("\n"), *rest])).strip()


def _read(text: str) -> tuple[str, bool]:
    """Return the reply in a bounded text, and whether the text goes on behind it."""
    folded = text.casefold()
    languages = [
        name for name, words in _LANGUAGES.items() if any(word in folded for word in words)
    ]
    if not languages and _is_all_own(text, folded):
        return text.strip(), False
    return _read_by_library(text, languages)


def _is_all_own(text: str, folded: str) -> bool:
    """Tell whether the library would leave a text as it is, which most are; it takes long."""
    return not (
        any(word in folded for word in _ENGLISH)
        or _RULE.search(folded)
        or any(letter in text for letter in _LETTERS_LIKE_I)
    )


def _read_by_library(text: str, languages: list[str]) -> tuple[str, bool]:
    from mailparser_reply.parser import EmailMessage

    message = EmailMessage(text=text, languages=languages, keep_hyphen_lists=True).read()
    replies = [reply for reply in message.replies if reply.content]
    if not replies:
        return "", False
    first = replies[0]
    # Some write below what they quote
    body = _without_start(first.body) if first.headers else first.body
    return body, len(replies) > 1 or bool(first.signatures)


def _without_start(text: str) -> str:
    lines = text.split("\n")
    own = (number for number, line in enumerate(lines) if line and not _QUOTED.match(line))
    return "\n".join(lines[next(own, len(lines)) :])


def _without_blank_runs(lines: list[str]) -> list[str]:
    """Return lines with at most one blank line in a row; blanks at their ends are no text."""
    stripped = [line.strip() for line in lines]
    return [
        line for number, line in enumerate(stripped) if line or (number and stripped[number - 1])
    ]


def _without_end(lines: list[str]) -> list[str]:
    """Return lines without what is quoted at their end, and without a signature (RFC 3676 4.3)."""
    if _SIGNATURE in lines:
        lines = lines[: lines.index(_SIGNATURE)]
    count = len(lines)
    has_quotation = False
    while count and (not lines[count - 1] or _QUOTED.match(lines[count - 1])):
        count -= 1
        has_quotation = has_quotation or bool(lines[count])
    if has_quotation:
        count -= _lines_of_introduction(lines[:count])
    return lines[:count]


def _lines_of_introduction(lines: list[str]) -> int:
    """Return how many lines at the end say whose text on what day is quoted, in any language."""
    if not lines or not lines[-1].endswith((":", "：")):
        return 0
    for count in (1, 2):
        text = " ".join(lines[-count:])
        if len(text) <= _LONG_LINE and all(lines[-count:]) and _DAY_AND_ADDRESS.search(text):
            return count
    return 0
