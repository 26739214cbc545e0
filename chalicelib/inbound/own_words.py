"""Find the words of a notice that are its own, and not those of the message that it returns.

A notice tells why a message failed, and then shows that message: attached, appended below a
heading, or quoted. The message may hold any words, for example the replies of other hosts. What it
says is therefore cut off:

- what follows a heading such as "Original message" or "Ann wrote:", in any usual language;
- what follows the header of a message, or a summary of it that is not indented;
- lines that begin with ``>``, and what HTML quotes;
- fields that repeat a subject or sender.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from chalicelib.inbound.mime import ORIGINALS, Mail, ReceivedPart
from chalicelib.inbound.notice_phrases import notice_phrases
from chalicelib.mail_format.markup import text_of_markup

_MOST_TEXT = 16_000
_MOST_MARKUP = 64_000
_LONGEST_HEADING = 200

#: A notice may begin with a summary of the message, and go on after it. Before a copy it says more.
_MOST_BEFORE_SUMMARY = 60

_FIELD = re.compile(r"[ \t|*]{0,20}([^\s:：*|][^:：]{0,30}?)[ \t*]{0,5}[:：](?!<)")


def own_words(mail: Mail, recipient: str = "") -> str:
    """Return what the author of a notice wrote, up to the copy of the message to ``recipient``."""
    text = next(filter(None, map(_text, mail.parts)), "")[:_MOST_TEXT]
    lines = text.split("\n")
    if mail.part(*ORIGINALS):
        return "\n".join(_own_lines(lines))
    address = recipient.lower()
    last = max((at for at, line in enumerate(lines) if address in line.lower()), default=-1)
    return "\n".join(_own_lines(lines, last))


def _text(part: ReceivedPart) -> str:
    """Return the text of a part, nothing if it is an attachment or blank."""
    if part.fields.first("content-disposition").lower().startswith("attachment"):
        return ""
    if part.content_type == "text/html":
        return text_of_markup(part.text()[:_MOST_MARKUP])
    text = part.text() if part.content_type == "text/plain" else ""
    return text if text.strip() else ""


def _own_lines(lines: Sequence[str], last_address: int | None = None) -> Iterator[str]:
    """Yield the lines of the notice itself.

    ``last_address`` is the last line that names the recipient, ``None`` if the copy is attached, so
    that the text holds no other.
    """
    at, size = 0, 0
    while at < len(lines):
        line = lines[at]
        if _announces_copy(line, size):
            return
        end, names = _fields(lines, at)
        if len(names) > 1 and last_address is not None:
            # A notice that goes on after a summary names the recipient there
            if end > last_address or not _is_summary(names, line, size):
                return
        elif len(names) == 1 and not names & notice_phrases().repeated_fields:
            yield from lines[at:end]
        elif not names and not line.lstrip().startswith(">"):
            size += len(line.strip())
            yield line
        at = max(end, at + 1)


def _announces_copy(line: str, size_before: int) -> bool:
    """Tell whether a line stands above the copy of the message, or above a quotation."""
    phrases = notice_phrases()
    if phrases.beginning.match(line):
        return True
    if len(line) > _LONGEST_HEADING:
        return False
    if phrases.heading.fullmatch(line) or phrases.attribution.fullmatch(line):
        return True
    return size_before > 0 and phrases.title.fullmatch(line) is not None


def _is_summary(names: frozenset[str], line: str, size_before: int) -> bool:
    """Tell whether these fields sum up the message, and the notice goes on after them.

    Otherwise they are the header of a copy. Exchange and its like indent the fields.
    """
    if names & notice_phrases().copy_fields:
        return False
    return line[:1] in (" ", "\t") or size_before <= _MOST_BEFORE_SUMMARY


def _fields(lines: Sequence[str], at: int) -> tuple[int, frozenset[str]]:
    """Return the end and the names of the fields of a message that begin at a line, if any do."""
    names: set[str] = set()
    end = at
    for position in range(at, len(lines)):
        line = lines[position]
        if name := _field_name(line):
            names.add(name)
        elif not names or (line.strip() and not _continues(lines, position)):
            break
        if line.strip():
            end = position + 1
    return end, frozenset(names)


def _continues(lines: Sequence[str], at: int) -> bool:
    """Tell whether a line is folded: the field of the line before goes on."""
    return lines[at][:1] in (" ", "\t") and bool(lines[at - 1].strip())


def _field_name(line: str) -> str:
    """Return the name of a header field in lower case, empty if the line is none."""
    field = _FIELD.match(line)
    name = field[1].lower() if field else ""
    phrases = notice_phrases()
    return name if name in phrases.summary_fields or name in phrases.copy_fields else ""
