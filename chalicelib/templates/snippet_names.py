"""Find the snippets that content names literally (``{{ render_snippet("footer") }}``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from chalicelib.core.resource_ids import is_id

if TYPE_CHECKING:
    from chalicelib.template_language import TemplatePart

MOST: Final = 100


def snippets_in(content: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the ids in ``content``, which is valid, in order; at most ``MOST``."""
    # The template language is slow to import, and few requests need it.
    from chalicelib.template_language import analyse
    from chalicelib.templates.parts import fill_parts

    ids: set[str] = set()

    def collect(source: str, part: TemplatePart) -> str:
        if "render_snippet" in source:
            ids.update(filter(is_id, analyse(source, part).snippets))
        return ""

    fill_parts(content, collect)
    return tuple(sorted(ids)[:MOST])
