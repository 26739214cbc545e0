"""Draw the journey of a message as SVG, for a light and for a dark page.

The README shows both pictures; ``make docs`` writes them. A picture is a list of boxes on a grid
and of arrows between them, so a change of the journey is a change of these lists.
"""

from __future__ import annotations

from dataclasses import dataclass
from xml.sax.saxutils import escape

_COLUMN, _ROW = 230, 126
_WIDTH, _HEIGHT = 148, 62
_MARGIN = 12


@dataclass(frozen=True, slots=True)
class Theme:
    """The colours of one picture."""

    background: str
    box: str
    edge: str
    accent: str
    text: str
    quiet: str


THEMES = {
    "light": Theme("#ffffff", "#f4f6f8", "#b6c0ca", "#dcebf9", "#1b2733", "#52606d"),
    "dark": Theme("#0d1117", "#1b222b", "#46525f", "#1d3a56", "#e8edf2", "#a3b1bf"),
}


@dataclass(frozen=True, slots=True)
class Box:
    """A box at a place of the grid; ``ours`` marks the steps that this service does."""

    column: int
    row: int
    title: str
    note: str
    ours: bool = True
    columns: int = 1

    @property
    def left(self) -> int:
        """Return the x of the left edge, in pixels."""
        return _MARGIN + self.column * _COLUMN

    @property
    def top(self) -> int:
        """Return the y of the top edge, in pixels."""
        return _MARGIN + self.row * _ROW

    @property
    def width(self) -> int:
        """Return the width in pixels."""
        return _WIDTH + (self.columns - 1) * _COLUMN


@dataclass(frozen=True, slots=True)
class Arrow:
    """A straight arrow between two points (pixels), with a label beside its middle."""

    start: tuple[int, int]
    end: tuple[int, int]
    label: str = ""


_APPLICATION = Box(0, 0, "Application", "or mail client", ours=False)
_ACCEPT = Box(1, 0, "1 Accept", "check, store, queue")
_GENERATE = Box(2, 0, "2 Generate", "render, track, sign")
_DELIVER = Box(3, 0, "3 Deliver", "attempt, retry")
_HOSTS = Box(4, 0, "Mail hosts", "and readers", ours=False)
_REPORT = Box(0, 1, "5 Report", "webhooks · event search · metrics · suppression list", columns=3)
_RECORD = Box(3, 1, "4 Record", "store, count, act")
_RETURN = Box(4, 1, "Come back", "bounces, clicks, opens")

_BOXES = (_APPLICATION, _ACCEPT, _GENERATE, _DELIVER, _HOSTS, _REPORT, _RECORD, _RETURN)


def _right(start: Box, end: Box, label: str) -> Arrow:
    middle = start.top + _HEIGHT // 2
    return Arrow((start.left + start.width, middle), (end.left, middle), label)


def _left(start: Box, end: Box, label: str) -> Arrow:
    middle = start.top + _HEIGHT // 2
    return Arrow((start.left, middle), (end.left + end.width, middle), label)


def _down(start: Box, end: Box, label: str) -> Arrow:
    middle = start.left + start.width // 2
    return Arrow((middle, start.top + _HEIGHT), (middle, end.top), label)


def _up(start: Box, end: Box, label: str) -> Arrow:
    middle = end.left + end.width // 2
    return Arrow((middle, start.top), (middle, end.top + _HEIGHT), label)


_ARROWS = (
    _right(_APPLICATION, _ACCEPT, "HTTP, SMTP"),
    _right(_ACCEPT, _GENERATE, "queue"),
    _right(_GENERATE, _DELIVER, "queue"),
    _right(_DELIVER, _HOSTS, "SMTP"),
    _down(_DELIVER, _RECORD, "events"),
    _down(_HOSTS, _RETURN, "mail, HTTP"),
    _left(_RETURN, _RECORD, "events"),
    _left(_RECORD, _REPORT, "events"),
    _up(_REPORT, _APPLICATION, "webhooks"),
)


def draw(theme: Theme) -> str:
    """Return the picture as an SVG document."""
    width = max(box.left + box.width for box in _BOXES) + _MARGIN
    height = max(box.top for box in _BOXES) + _HEIGHT + _MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" '
        'font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif">',
        "<title>The journey of a message</title>",
        f'<rect width="{width}" height="{height}" fill="{theme.background}"/>',
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        f'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="{theme.quiet}"/>'
        "</marker></defs>",
        *(_box(box, theme) for box in _BOXES),
        *(_arrow(arrow, theme) for arrow in _ARROWS),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _box(box: Box, theme: Theme) -> str:
    fill = theme.accent if box.ours else theme.box
    middle = box.left + box.width // 2
    return (
        f'<rect x="{box.left}" y="{box.top}" width="{box.width}" height="{_HEIGHT}" rx="8" '
        f'fill="{fill}" stroke="{theme.edge}"/>'
        + _text(middle, box.top + 27, box.title, theme.text, 'font-size="15" font-weight="600"')
        + _text(middle, box.top + 47, box.note, theme.quiet, 'font-size="12"')
    )


def _arrow(arrow: Arrow, theme: Theme) -> str:
    (x1, y1), (x2, y2) = arrow.start, arrow.end
    line = (
        f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{theme.quiet}" '
        'stroke-width="1.5" marker-end="url(#head)"/>'
    )
    if y1 == y2:
        return line + _text((x1 + x2) // 2, y1 - 8, arrow.label, theme.quiet, 'font-size="12"')
    place = 'font-size="12" text-anchor="start"'
    return line + _text(x1 + 8, (y1 + y2) // 2 + 4, arrow.label, theme.quiet, place)


def _text(x: int, y: int, text: str, colour: str, style: str) -> str:
    anchor = "" if "text-anchor" in style else ' text-anchor="middle"'
    return f'<text x="{x}" y="{y}" fill="{colour}"{anchor} {style}>{escape(text)}</text>'
