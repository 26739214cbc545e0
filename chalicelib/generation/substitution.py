"""What renders the parts of messages: the data of a transmission merged with each recipient's.

A chunk has one :class:`Substitution`. It compiles each part once, with the links that its source
writes out marked (``tracking.literal_links``), for only those are tracked. So are the snippets and
the dynamic content that are brought into bodies. What goes into header fields is never marked.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

from chalicelib.snippets import store as snippets
from chalicelib.template_language import (
    Budget,
    CompiledPart,
    Part,
    SnippetSource,
    compile_part,
    merge_data,
)
from chalicelib.templates.parts import Fill
from chalicelib.tracking.literal_links import mark, mark_all
from chalicelib.transmissions.model import Json, Transmission

_DYNAMIC: Final = ("dynamic_html", "dynamic_plain", "dynamic_amp_html")


def fills_bodies(sent: Transmission) -> bool:
    """Tell whether the bodies of a transmission's messages are rendered, and so hold marks.

    They go out verbatim from SMTP, and where ``perform_substitutions`` is false (spec 2.1).
    """
    is_template = sent.substitute or not sent.raw
    return is_template and sent.options.get("perform_substitutions") is not False


class Substitution:
    """The data of a transmission, ready to be merged with each recipient's."""

    def __init__(self, sent: Transmission) -> None:
        self._sent = sent
        self._snippets = snippets.source(sent.account_id, sent.subaccount_id)
        self._marked_snippets = _marked(self._snippets)
        self._compiled: dict[tuple[str, Part], CompiledPart] = {}

    def fill(self, recipient: Json, env_from: str | None = None) -> Fill:
        """Return what renders the parts of a recipient's message; it raises ``TemplateError``.

        ``env_from`` is its envelope sender. The parts share what a render may spend.
        """
        sent = self._sent
        data = merge_data(
            transmission_metadata=sent.metadata,
            transmission_data=sent.substitution_data,
            recipient_metadata=recipient.get("metadata"),
            recipient_data=recipient.get("substitution_data"),
            address=recipient,
            env_from=env_from,
            return_path=recipient.get("return_path") or sent.return_path or None,
        )
        budget = Budget()

        def render(source: str, part: Part) -> str:
            compiled = self._compiled_part(source, part)
            if part.kind == "header":
                snippets, dynamic = self._snippets, sent.substitution_data
            else:
                snippets, dynamic = self._marked_snippets, self._marked_dynamic
            return compiled.render(data, snippets=snippets, dynamic=dynamic, budget=budget)

        return render

    def _compiled_part(self, source: str, part: Part) -> CompiledPart:
        found = self._compiled.get((source, part))
        if found is None:
            found = compile_part(source if part.kind == "header" else mark(source), part)
            self._compiled[source, part] = found
        return found

    @cached_property
    def _marked_dynamic(self) -> Json:
        data = self._sent.substitution_data
        return data | {name: mark_all(data[name]) for name in _DYNAMIC if name in data}


def _marked(source: SnippetSource) -> SnippetSource:
    """Return what finds snippets with their links marked; each is marked once."""
    seen: dict[str, Mapping[str, Any] | None] = {}

    def content_of(snippet_id: str) -> Mapping[str, Any] | None:
        if snippet_id not in seen:
            content = source(snippet_id)
            seen[snippet_id] = content and mark_all(dict(content))
        return seen[snippet_id]

    return content_of
