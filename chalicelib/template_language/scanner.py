"""Divide a template into text and tags, and remove the blanks around statements.

Rules for blanks: after a statement, blanks up to and including the end of the line are removed. A
line with statements only is removed completely, with its indentation. If `end` begins a line and
text follows on that line, the text joins the line rendered before. Expressions do not change the
text around them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

from .errors import Fault, Report, stop_at
from .lexer import Tag, read_tag
from .mustache import is_ours, mustache_spans

MOST_TOKENS = 30_000  # in all tags together: about a second of compiling

_BLANKS_AND_NEWLINE = re.compile(r"[ \t]*+(\r?\n)?")


@dataclass(slots=True)
class Cuts:
    """Alternating texts and tags: a text before each tag, and one after the last tag.

    ``sources`` are the texts as written, ``texts`` without the removed blanks; ``joins`` are the
    numbers of the `end` tags whose following text joins the line before.
    """

    sources: list[str] = field(default_factory=list)
    tags: list[Tag] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    joins: set[int] = field(default_factory=set)


def scan(source: str, *, mustache: bool, report: Report = stop_at) -> Cuts:
    """Divide a template; report each fault with its line. ``mustache``: respect Mustache templates.

    Raises Fault for a template with too many substitutions, which is not read further.

    Callers limit the length of the source; the time is linear in it.
    """
    cuts = Cuts()
    spans = mustache_spans(source) if mustache else []
    line, tokens, line_position, text_start, position = 1, 0, 0, 0, 0
    while (start := source.find("{{", position)) >= 0:
        if spans and (end := _end_of_mustache_tag(source, start, spans)):
            position = end
            continue
        line += source.count("\n", line_position, start)
        tag = read_tag(source, start, line, report)
        tokens += len(tag.tokens)
        if tokens > MOST_TOKENS:
            raise Fault("the template has too many substitutions", line, tag.span)
        cuts.sources.append(source[text_start:start])
        cuts.tags.append(tag)
        text_start = position = line_position = tag.span.end
        line = tag.tokens[-1].line
    cuts.sources.append(source[text_start:])
    _trim(cuts)
    return cuts


def _end_of_mustache_tag(source: str, start: int, spans: list[tuple[int, int]]) -> int:
    """Return the end of the tag at ``start`` if it belongs to Mustache, else 0."""
    span = bisect_right(spans, (start, len(source))) - 1
    if span < 0 or start >= spans[span][1]:
        return 0
    closing = "}}}" if source.startswith("{{{", start) else "}}"
    inside = start + len(closing)
    end = source.find(closing, inside)
    if end < 0:
        return len(source)
    return 0 if is_ours(source[inside:end]) else end + len(closing)


def _trim(cuts: Cuts) -> None:
    """Apply the rules for blanks."""
    statements = [tag.statement for tag in cuts.tags]
    begins = _begins_line(cuts.sources, statements)
    ends = _ends_line(cuts.sources, statements)
    last = len(statements)
    for number, text in enumerate(cuts.sources):
        first, stop = 0, len(text)
        if number and statements[number - 1] and ends[number - 1]:
            match = _BLANKS_AND_NEWLINE.match(text)
            first = match.end() if match else 0
        if number < last and statements[number] and begins[number]:
            joins = _joins(cuts, statements, ends, number)
            if joins:
                cuts.joins.add(number)
            if joins or ends[number]:
                stop = text.rfind("\n") + 1
        cuts.texts.append(text[first:stop])


def _begins_line(texts: list[str], statements: list[str | None]) -> list[bool]:
    """Return for each tag whether only blanks and statements precede it on its line."""
    begins: list[bool] = []
    for number in range(len(statements)):
        before = texts[number]
        blank = not before[before.rfind("\n") + 1 :].strip(" \t")
        at_start = "\n" in before or number == 0
        begins.append(blank and (at_start or bool(statements[number - 1] and begins[-1])))
    return begins


def _ends_line(texts: list[str], statements: list[str | None]) -> list[bool]:
    """Return for each tag whether only blanks and statements follow it on its line."""
    ends = [True] * len(statements)
    for number in reversed(range(len(statements))):
        after = texts[number + 1]
        match = _BLANKS_AND_NEWLINE.match(after)
        blanks, newline = (match.end(), match[1]) if match else (0, None)
        if not newline and number + 1 < len(statements):
            blank = blanks == len(after)
            ends[number] = blank and bool(statements[number + 1] and ends[number + 1])
        elif not newline:
            ends[number] = blanks == len(after)
    return ends


def _joins(cuts: Cuts, statements: list[str | None], ends: list[bool], number: int) -> bool:
    """Return whether printed text follows this `end` directly, on the line that it begins."""
    if statements[number] != "end" or ends[number]:
        return False
    follows_statement = number + 1 < len(statements) and statements[number + 1]
    return not (follows_statement and not cuts.sources[number + 1].strip(" \t"))
