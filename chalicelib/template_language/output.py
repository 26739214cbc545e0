"""Print values: each filter makes the text for one kind of place in a template.

All filters charge the budget, because a value can be printed many times. nil prints nothing. The
output of macros is printed unchanged. A NUL is dropped from all others (``escaping``).
"""

from __future__ import annotations

from typing import Any

from jinja2 import pass_context

from .context import RenderContext
from .errors import Fault
from .escaping import encode_url, escape_html
from .values import number_text, type_name

JOIN = "".join(("jo", "in"))
"""Stands in the output for "take back the newline"; known by identity, so no text can be it."""


class Rendered(str):
    """Output of a snippet or of dynamic content; its values are escaped already."""

    __slots__ = ()


@pass_context
def print_html(context: RenderContext, value: Any) -> str:
    """Return the value for markup."""
    text = escape_html(value) if type(value) is str else _text(value)
    context.budget.write(len(text))
    return text


@pass_context
def print_url(context: RenderContext, value: Any) -> str:
    """Return the value for the inside of a link."""
    text = _text(value)
    if not isinstance(text, Rendered):
        text = encode_url(text)
    context.budget.write(len(text))
    return text


@pass_context
def print_plain(context: RenderContext, value: Any) -> str:
    """Return the value unescaped, for text, headers and triple braces."""
    text = value.replace("\0", "") if type(value) is str else _text(value)
    context.budget.write(len(text))
    return text


@pass_context
def join(context: RenderContext, value: None) -> str:
    """Return the mark that joins the following text to the line before."""
    return JOIN


def drop_newline(chunks: list[str]) -> None:
    """Remove a newline at the end of the output in ``chunks``."""
    if chunks and chunks[-1].endswith("\n"):
        chunks[-1] = chunks[-1].removesuffix("\n").removesuffix("\r")


def _text(value: Any) -> str:
    if type(value) is int:  # the most frequent of the slow cases
        return number_text(value)
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return number_text(value)
    raise Fault(f"attempt to print an {type_name(value)}")
