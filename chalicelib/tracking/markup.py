"""Find the tags in markup with a tokenizer that reads as browsers do and changes nothing.

It follows the HTML tokenizer (WHATWG, 13.2.5) as far as that decides what is a tag: quoted
attribute values, comments, and elements whose content is text. Its time is linear for any markup:
every character is read once or, in an unusually written tag, twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

BLANKS = " \t\n\r\f"

_BREAK = rf"[{BLANKS}/>]"
_NAME = rf"[a-zA-Z][^{BLANKS}/>\"'<]*"
# A tag in the usual form; other tags are read attribute by attribute. Each attribute begins with a
# blank, so that there is only one way to match them.
_VALUE = rf"""(?:"[^"]*"|'[^']*'|[^{BLANKS}"'=<>`]+(?=[{BLANKS}>]))"""
_ATTRIBUTE = rf"""[{BLANKS}/]+[^{BLANKS}/>="'<]+(?:[{BLANKS}]*=[{BLANKS}]*{_VALUE})?"""
_USUAL = rf"(?:{_ATTRIBUTE}){{0,200}}[{BLANKS}/]*>"

_TEXT_ELEMENTS = ("script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes")
_LINK_AND_BODY = ("a", "area", "body")


def _any_case(*names: str) -> str:
    """Return a pattern for the names; ignoring the case of all characters would be slow."""
    spelled = ("".join(f"[{c}{c.upper()}]" for c in name) for name in names)
    return f"(?:{'|'.join(spelled)})"


_SKIPPED_NAME = rf"(?!{_any_case(*_LINK_AND_BODY, *_TEXT_ELEMENTS)}{_BREAK}){_NAME}"
_END_TAG = rf"/(?!{_any_case('body')}{_BREAK})[a-zA-Z][^>\"']*>"
_SKIPPED = re.compile(
    rf"(?:[^<]+|<(?:{_SKIPPED_NAME}{_USUAL}|{_END_TAG}|(?![a-zA-Z/!?]))){{0,1000}}"
)
# All up to a start tag in the usual form, or else to what has to be read in another way
_TO_START_TAG = re.compile(
    rf"""(?:[^<]++|</[a-zA-Z][^>"']*+>|<(?![a-zA-Z/!?]))*+(<(?:({_NAME}){_USUAL}|(?=[a-zA-Z/!?])))"""
)

# A complete link tag in the usual form, divided around the value of its href
_NOT_HREF = _ATTRIBUTE.replace("/]+", f"/]+(?!{_any_case('href')}[{BLANKS}=/>])", 1)
_USUAL_LINK = re.compile(
    rf"""(<{_any_case("area", "a")}(?:{_NOT_HREF}){{0,50}}[{BLANKS}/]+{_any_case("href")}=")"""
    rf"""([^"]*)("(?:{_ATTRIBUTE}){{0,50}}[{BLANKS}/]*>)"""
)

_TAG_NAME = re.compile(rf"</?[a-zA-Z][^{BLANKS}/>]*")
_USUAL_REST = re.compile(_USUAL)
_ANY_ATTRIBUTE = re.compile(
    rf"""
    ([{BLANKS}/]*)                              # before it
    ([^{BLANKS}/>][^{BLANKS}/>=]*)              # its name
    (?:[{BLANKS}]*=[{BLANKS}]*
      (?:"([^"]*)("|\Z)|'([^']*)('|\Z)|([^{BLANKS}>"'][^{BLANKS}>]*))?
    )?
    """,
    re.VERBOSE,
)
_REST = re.compile(rf"[{BLANKS}/]*(>?)")
_COMMENT_END = re.compile(r"--!?>")
_TEXT_END = {name: re.compile(rf"</{_any_case(name)}(?={_BREAK})") for name in _TEXT_ELEMENTS}


class Tag(NamedTuple):
    """A tag from ``start`` to ``end``; ``name`` is in lower case, with a slash for an end tag."""

    name: str
    start: int
    end: int


class Attribute(NamedTuple):
    """An attribute of a tag; ``start`` is the start of the blanks before it.

    ``value`` is as written, ``None`` if there is none; ``value_start`` is its start, after the
    quote.
    """

    name: str
    value: str | None
    start: int
    end: int
    value_start: int


class Unfinished(Exception):
    """The markup ends within a tag, a comment or an element whose content is text.

    ``start`` is the start of that; anything appended to the markup would become part of it.
    """

    def __init__(self, start: int) -> None:
        super().__init__(start)
        self.start = start


def tags(markup: str) -> Iterator[Tag]:
    """Yield the start tags of ``a``, ``area`` and ``body`` and the end tags of ``body``, in order.

    Raises :class:`Unfinished` at the end if the last tag, comment or element is not closed.
    """
    position, end = 0, len(markup)
    while position < end:
        skipped = _SKIPPED.match(markup, position)
        assert skipped is not None
        position = skipped.end()
        # At the end, before a tag that counts here, or after a thousand tags that do not
        if position == end or markup[position] != "<":
            continue
        name_match = _TAG_NAME.match(markup, position)
        if name_match is None:
            position = _past_comment(markup, position)
            continue
        name, start = name_match[0][1:].lower(), position
        position = _tag_end(markup, start, name_match.end())
        if name in _LINK_AND_BODY or name == "/body":
            yield Tag(name, start, position)
        elif name in _TEXT_END:
            position = _text_end(markup, name, start, position)


def start_tags(markup: str) -> Iterator[Tag]:
    """Yield all start tags in order, up to a tag, comment or element that is not closed."""
    position = 0
    try:
        while match := _TO_START_TAG.match(markup, position):
            start, position = match.start(1), match.end()
            name = match[2]
            if not name:
                name_match = _TAG_NAME.match(markup, start)
                if name_match is None:
                    position = _past_comment(markup, start)
                    continue
                name = name_match[0][1:]
                position = _tag_end(markup, start, name_match.end())
            name = name.lower()
            if not name.startswith("/"):
                yield Tag(name, start, position)
            if name in _TEXT_END:
                position = _text_end(markup, name, start, position)
    except Unfinished:
        return


def pieces(markup: str) -> Iterator[Tag]:
    """Yield all that markup consists of, in order: tags, and what is between them.

    Text has an empty name, a comment (and what browsers treat like one) the name ``!``. A tag or a
    comment that is not closed is the end.
    """
    position, end = 0, len(markup)
    while position < end:
        start, name = position, ""
        name_match = _TAG_NAME.match(markup, start)
        try:
            if name_match:
                name = name_match[0][1:].lower()
                position = _tag_end(markup, start, name_match.end())
            elif markup.startswith(("<!", "<?", "</"), start):
                name, position = "!", _past_comment(markup, start)
            else:
                place = markup.find("<", start + 1)
                position = place if place >= 0 else end
        except Unfinished:
            return
        yield Tag(name, start, position)
        if name in _TEXT_END:
            match = _TEXT_END[name].search(markup, position)
            start, position = position, match.start() if match else end
            yield Tag("", start, position)


def around_href(markup: str) -> tuple[str, str, str] | None:
    """Divide a link's start tag into the text before, in and after its ``href`` value.

    Returns ``None`` for other markup, and for a tag that is not in the usual form.
    """
    match = _USUAL_LINK.fullmatch(markup)
    return (match[1], match[2], match[3]) if match else None


def attributes(tag: str) -> Iterator[Attribute]:
    """Yield the attributes of a whole start tag (``<a href=...>``), in order."""
    name_match = _TAG_NAME.match(tag)
    assert name_match is not None
    position = name_match.end()
    while match := _ANY_ATTRIBUTE.match(tag, position):
        group = 3 if match[3] is not None else 5 if match[5] is not None else 7
        yield Attribute(
            match[2].lower(), match[group], match.start(), match.end(), match.start(group)
        )
        position = match.end()


def _tag_end(markup: str, start: int, position: int) -> int:
    if usual := _USUAL_REST.match(markup, position):
        return usual.end()
    while match := _ANY_ATTRIBUTE.match(markup, position):
        position = match.end()
        if match[4] == "" or match[6] == "":
            raise Unfinished(start)
    rest = _REST.match(markup, position)
    if rest is None or not rest[1]:
        raise Unfinished(start)
    return rest.end()


def _past_comment(markup: str, position: int) -> int:
    """Return the end of a comment, or of what browsers treat like one (``<!doctype``, ``<?``)."""
    if not markup.startswith("<!--", position):
        end = markup.find(">", position)
        if end < 0:
            raise Unfinished(position)
        return end + 1
    # <!--> and <!---> are whole comments
    match = re.compile("-?>").match(markup, position + 4) or _COMMENT_END.search(
        markup, position + 4
    )
    if match is None:
        raise Unfinished(position)
    return match.end()


def _text_end(markup: str, name: str, start: int, position: int) -> int:
    match = _TEXT_END[name].search(markup, position)
    if match is None:
        raise Unfinished(start)
    return match.start()


def accepted_values(unfinished: str) -> re.Pattern[str] | None:
    """Return the values that may follow an unfinished element without changing how it is read.

    ``unfinished`` is markup from the ``<`` that begins the element on. Whatever comes later is read
    the same for each value that matches the pattern as a whole. ``None``: there is no such pattern.
    """
    name_match = _TAG_NAME.match(unfinished)
    if name_match is None:
        return _WORDS if unfinished.startswith(("<!", "<?")) else None
    position = name_match.end()
    name = name_match[0][1:].lower()
    while match := _ANY_ATTRIBUTE.match(unfinished, position):
        position = match.end()
        if match[4] == "":
            return _WITHOUT_DOUBLE_QUOTES
        if match[6] == "":
            return _WITHOUT_SINGLE_QUOTES
        if position == len(unfinished):
            return _WORD if match[7] or unfinished[-1] == "=" else None
    if name in _TEXT_END and ">" in unfinished[position:]:
        return None if _BEGUN_END_TAG.search(unfinished, position) else _WITHOUT_TAGS
    return None


_WORD = re.compile(r"[A-Za-z0-9._%~-]+")
_WORDS = re.compile(r"[A-Za-z0-9 ]+")
_WITHOUT_DOUBLE_QUOTES = re.compile(r'[^"]*')
_WITHOUT_SINGLE_QUOTES = re.compile(r"[^']*")
_WITHOUT_TAGS = re.compile(r"[^<]*")
_BEGUN_END_TAG = re.compile(r"</?[a-zA-Z]*\Z")
