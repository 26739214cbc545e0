"""Where the tags are in markup: a tokenizer that reads as browsers do and changes nothing.

It follows the tokenizer of HTML (WHATWG, 13.2.5) as far as it decides what is a tag: quoted
attribute values, comments, and the elements whose content is text. Its time is linear whatever the
markup: every character is passed once or, in a tag that is written unusually, twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

BLANKS = " \t\n\r\f"

_BREAK = rf"[{BLANKS}/>]"
# A tag as almost all are written; others are read attribute by attribute. Each attribute begins
# with a blank, so that there is one way to match them.
_VALUE = rf"""(?:"[^"]*"|'[^']*'|[^{BLANKS}"'=<>`]+(?=[{BLANKS}>]))"""
_ATTRIBUTE = rf"""[{BLANKS}/]+[^{BLANKS}/>="'<]+(?:[{BLANKS}]*=[{BLANKS}]*{_VALUE})?"""
_USUAL = rf"(?:{_ATTRIBUTE}){{0,200}}[{BLANKS}/]*>"

_TEXT_ELEMENTS = ("script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes")
_WANTED = ("a", "area", "body")


def _any_case(*names: str) -> str:
    """Return a pattern for the names; ignoring the case of all characters would be slow."""
    spelled = ("".join(f"[{c}{c.upper()}]" for c in name) for name in names)
    return f"(?:{'|'.join(spelled)})"


_PASSED_NAME = rf"(?!{_any_case(*_WANTED, *_TEXT_ELEMENTS)}{_BREAK})[a-zA-Z][^{BLANKS}/>\"'<]*"
_END_TAG = rf"/(?!{_any_case('body')}{_BREAK})[a-zA-Z][^>\"']*>"
_PASSED = re.compile(rf"(?:[^<]+|<(?:{_PASSED_NAME}{_USUAL}|{_END_TAG}|(?![a-zA-Z/!?]))){{0,1000}}")

# A whole link tag as almost all are written, cut around the value of its href
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
    """An attribute of a tag. ``start`` is where the blanks before it begin.

    ``value`` is as written; ``None`` if there is none. ``value_start`` is where it begins, behind
    its quote.
    """

    name: str
    value: str | None
    start: int
    end: int
    value_start: int


class Unfinished(Exception):
    """The markup ends within a tag, a comment or an element whose content is text.

    ``start`` is where that begins; whatever is put behind it belongs to it.
    """

    def __init__(self, start: int) -> None:
        super().__init__(start)
        self.start = start


def tags(markup: str) -> Iterator[Tag]:
    """Yield the start tags of ``a``, ``area`` and ``body`` and the end tags of ``body``, in order.

    Raises :class:`Unfinished` at the end when what was begun last has none.
    """
    position, end = 0, len(markup)
    while position < end:
        passed = _PASSED.match(markup, position)
        assert passed is not None
        position = passed.end()
        # At the end, before a tag that is looked at here, or after a thousand that are not
        if position == end or markup[position] != "<":
            continue
        named = _TAG_NAME.match(markup, position)
        if named is None:
            position = _past_comment(markup, position)
            continue
        name, start = named[0][1:].lower(), position
        position = _tag_end(markup, start, named.end())
        if name in _WANTED or name == "/body":
            yield Tag(name, start, position)
        elif name in _TEXT_END:
            position = _text_end(markup, name, start, position)


def around_href(markup: str) -> tuple[str, str, str] | None:
    """Return what stands before, in and behind the ``href`` of markup that is one link's start tag.

    ``None`` where it is something else, or a tag that is written unusually.
    """
    found = _USUAL_LINK.fullmatch(markup)
    return (found[1], found[2], found[3]) if found else None


def attributes(tag: str) -> Iterator[Attribute]:
    """Yield the attributes of a whole start tag (``<a href=...>``), in order."""
    named = _TAG_NAME.match(tag)
    assert named is not None
    position = named.end()
    while found := _ANY_ATTRIBUTE.match(tag, position):
        group = 3 if found[3] is not None else 5 if found[5] is not None else 7
        yield Attribute(
            found[2].lower(), found[group], found.start(), found.end(), found.start(group)
        )
        position = found.end()


def _tag_end(markup: str, start: int, position: int) -> int:
    if usual := _USUAL_REST.match(markup, position):
        return usual.end()
    while found := _ANY_ATTRIBUTE.match(markup, position):
        position = found.end()
        if found[4] == "" or found[6] == "":
            raise Unfinished(start)
    rest = _REST.match(markup, position)
    if rest is None or not rest[1]:
        raise Unfinished(start)
    return rest.end()


def _past_comment(markup: str, position: int) -> int:
    """Return where a comment ends, or what browsers take for one (``<!doctype``, ``<?``)."""
    if not markup.startswith("<!--", position):
        end = markup.find(">", position)
        if end < 0:
            raise Unfinished(position)
        return end + 1
    # <!--> and <!---> are whole comments
    found = re.compile("-?>").match(markup, position + 4) or _COMMENT_END.search(
        markup, position + 4
    )
    if found is None:
        raise Unfinished(position)
    return found.end()


def _text_end(markup: str, name: str, start: int, position: int) -> int:
    found = _TEXT_END[name].search(markup, position)
    if found is None:
        raise Unfinished(start)
    return found.start()
