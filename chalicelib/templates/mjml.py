"""Compile MJML to HTML when a template is saved, with the template language inside it.

Tags of the template language are no MJML: ``{{ a < b }}`` would end a text. So words that MJML
leaves as they are stand for the tags while it compiles. A tag whose word is missing in the HTML is
an error: MJML has no place for it there, such as in a width.

The compiler (mrml) names few places, ignores elements that it does not know, and ends its process
when elements nest too deep. So `mjml_structure` reads the source first, and `mjml_compiler` runs it
in a process of its own.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from chalicelib.core.confined import Died
from chalicelib.template_language import MJML, Analysis, analyse
from chalicelib.template_language.analysis import LocatedError, Places
from chalicelib.template_language.errors import Fault, Span, TemplateError, shown
from chalicelib.template_language.lexer import Tag
from chalicelib.template_language.scanner import scan
from chalicelib.templates.mjml_compiler import compile_mjml
from chalicelib.templates.mjml_structure import default_values, structure_faults

#: The compiled HTML is some ten times as long as its source
MOST_BYTES: Final = 512 * 1024
MOST_HTML_BYTES: Final = 4 * 1024 * 1024

_POSITION = re.compile(r" in root template(?: at position (\d+):(\d+))?$")


class MjmlError(TemplateError):
    """The source is no MJML, or passes a limit."""

    code = "3000"
    message = "MJML error in template content"
    activity = "compiling"


class Compilation:
    """MJML that was compiled: the ``html``, or its ``errors``; ``analysis`` is what it names."""

    def __init__(self, source: str) -> None:
        self.analysis: Analysis = analyse(source, MJML)
        self.html = ""
        self._places = Places(source)
        self.errors: list[LocatedError] = list(self.analysis.errors)
        if not self.errors:
            self._compile(source)

    def _compile(self, source: str) -> None:
        if len(source.encode()) > MOST_BYTES:
            self._add(Fault(f"it has more than {MOST_BYTES} bytes", span=Span(0, 0)))
            return
        tags = scan(source, mustache=False).tags
        hidden = _Hidden(source, tags)
        for fault in structure_faults(hidden.source):
            self._add(Fault(fault.detail, span=hidden.original(fault.span or Span(0, 0))))
        if self.errors:
            return
        try:
            octets = compile_mjml(hidden.source.encode())
        except Died as death:
            self._add(Fault(f"it cannot be compiled: {death}", span=Span(0, 0)))
            return
        except ValueError as error:
            self._add(hidden.fault(str(error)))
            return
        html = octets.decode()
        if len(octets) > MOST_HTML_BYTES:
            text = f"the HTML that it compiles to has more than {MOST_HTML_BYTES} bytes"
            self._add(Fault(text, span=Span(0, 0)))
            return
        for tag in hidden.missing(html):
            self._add(Fault("MJML cannot have a substitution here", span=tag.span))
        self.html = hidden.restored(html)

    def _add(self, fault: Fault) -> None:
        place = self._places.of(fault.span or Span(0, 0))
        self.errors.append(LocatedError(MjmlError(MJML, place.line, fault.detail), place))


class _Hidden:
    """A source with a word in place of each tag."""

    def __init__(self, source: str, tags: Sequence[Tag]) -> None:
        prefix = "tag"
        while prefix in source:
            prefix += "z"
        self._tags = tags
        self._words = [f"{prefix}{number:05d}" for number in range(len(tags))]
        self._pattern = re.compile(prefix + r"(\d{5})")
        self._source = source
        pieces: list[str] = []
        # Where each piece begins, in this source and in the original one
        self._starts: list[tuple[int, int]] = [(0, 0)]
        position = length = 0
        for tag, word in zip(tags, self._words, strict=True):
            pieces += [source[position : tag.span.start], word]
            length += len(pieces[-2]) + len(word)
            position = tag.span.end
            self._starts.append((length, position))
        self.source = "".join([*pieces, source[position:]])

    def restored(self, html: str) -> str:
        """Return compiled HTML with the tags in place of their words."""
        return self._pattern.sub(lambda match: self._text(int(match[1])), html)

    def missing(self, html: str) -> list[Tag]:
        """Return the tags that compiled HTML lacks, but for default values that nothing uses."""
        present = {int(match[1]) for match in self._pattern.finditer(html)}
        for start, end in default_values(self.source):
            present |= {int(match[1]) for match in self._pattern.finditer(self.source, start, end)}
        return [tag for number, tag in enumerate(self._tags) if number not in present]

    def original(self, span: Span) -> Span:
        """Return where a span of this source is in the original one."""
        return Span(self._original(span.start), self._original(span.end))

    def fault(self, message: str) -> Fault:
        """Return an error of the compiler, which counts bytes where it names a place."""
        match = _POSITION.search(message)
        if match is None or match[1] is None:
            return Fault(_POSITION.sub("", message))
        octets = self.source.encode()
        start, end = (len(octets[: int(each)].decode("utf-8", "ignore")) for each in match.groups())
        span = self.original(Span(start, end))
        text = shown(self._source[span.start : span.end])
        return Fault(f"{message[: match.start()]} '{text}'", span=span)

    def _original(self, position: int) -> int:
        number = bisect_right(self._starts, (position, len(self._source))) - 1
        start, original = self._starts[number]
        moved = original + position - start
        # A place within a word is the end of its tag
        return min([moved, *(each[1] for each in self._starts[number + 1 : number + 2])])

    def _text(self, number: int) -> str:
        span = self._tags[number].span
        return self._source[span.start : span.end]
