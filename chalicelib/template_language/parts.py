"""Define the parts of a message that are templates, and their names in errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["html", "amp_html", "mjml", "text", "header"]


@dataclass(frozen=True, slots=True)
class TemplatePart:
    """One part: its kind, and for a header its name."""

    kind: Kind
    header: str = ""

    @property
    def label(self) -> str:
        """The ``part`` of an error object: ``html``, or ``Header:Subject`` (spec 2.3)."""
        return f"Header:{self.header}" if self.kind == "header" else self.kind

    @property
    def title(self) -> str:
        """The name in a description: ``part html``, or ``header Subject``."""
        return f"header {self.header}" if self.kind == "header" else f"part {self.kind}"

    @property
    def escapes_html(self) -> bool:
        """Whether ``{{ }}`` writes markup, so that values are escaped."""
        return self.kind in ("html", "amp_html", "mjml")

    @property
    def content_key(self) -> Literal["html", "amp_html", "text"]:
        """The key of a snippet's content for this part; headers use the text."""
        if self.kind == "header":
            return "text"
        return "html" if self.kind == "mjml" else self.kind


HTML = TemplatePart("html")
AMP_HTML = TemplatePart("amp_html")
#: Source that HTML is compiled from; it is analysed, and never rendered itself
MJML = TemplatePart("mjml")
TEXT = TemplatePart("text")


def header(name: str) -> TemplatePart:
    """Return the part that is the header ``name``, such as ``Subject``."""
    return TemplatePart("header", name)
