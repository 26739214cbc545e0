"""Fill in the parts of messages with the data of a transmission, merged with each recipient's.

A chunk has one :class:`Substitution`. It compiles each part once and marks the links that its
source writes literally (``tracking.literal_links``), because only those are tracked. The snippets
and the dynamic content of bodies are marked as well; header fields never are.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

from chalicelib.core.json_types import Json
from chalicelib.recipient_lists.stored_form import StoredRecipient
from chalicelib.snippets import store as snippets
from chalicelib.template_language import (
    Budget,
    CompiledPart,
    SnippetSource,
    TemplatePart,
    compile_part,
    merge_data,
)
from chalicelib.template_language.chunks import Chunks
from chalicelib.tracking.literal_links import mark, mark_all
from chalicelib.transmissions.model import Transmission

_DYNAMIC: Final = ("dynamic_html", "dynamic_plain", "dynamic_amp_html")


def fills_bodies(transmission: Transmission) -> bool:
    """Tell whether the bodies of a transmission's messages are rendered, and so hold marks.

    Messages from SMTP keep their bodies, and so do those with ``perform_substitutions`` false
    (spec 2.1).
    """
    is_template = transmission.substitute or not transmission.raw
    return is_template and transmission.options.get("perform_substitutions") is not False


class Filling:
    """Renders the parts of one message within one budget. All methods raise ``TemplateError``."""

    def __init__(self, substitution: Substitution, data: Json) -> None:
        self._substitution = substitution
        self._data = data
        self._budget = Budget()

    def chunks(self, source: str, part: TemplatePart) -> Chunks:
        """Return a part in chunks."""
        return self._substitution.chunks(source, part, self._data, self._budget)

    def text(self, source: str, part: TemplatePart) -> str:
        """Return a part as one text."""
        return str(self.chunks(source, part))


class Substitution:
    """Merges the data of a transmission with each recipient's, and renders with it."""

    def __init__(self, transmission: Transmission) -> None:
        self._transmission = transmission
        self._snippets = snippets.source(transmission.account_id, transmission.subaccount_id)
        self._marked_snippets = _marked(self._snippets)
        self._owner_snippets = self._marked_owner_snippets = None
        if transmission.shares_template:
            self._owner_snippets = snippets.source(transmission.account_id, None)
            self._marked_owner_snippets = _marked(self._owner_snippets)
        self._compiled: dict[tuple[str, TemplatePart], CompiledPart] = {}

    def filling(self, recipient: StoredRecipient, env_from: str | None = None) -> Filling:
        """Return what renders the parts of a recipient's message.

        ``env_from`` is the envelope sender of the message. All parts share one budget.
        """
        transmission = self._transmission
        data = merge_data(
            transmission_metadata=transmission.metadata,
            transmission_data=transmission.substitution_data,
            recipient_metadata=recipient.get("metadata"),
            recipient_data=recipient.get("substitution_data"),
            address=recipient,
            env_from=env_from,
            return_path=transmission.return_path_for(recipient) or None,
        )
        return Filling(self, data)

    def chunks(self, source: str, part: TemplatePart, data: Json, budget: Budget) -> Chunks:
        """Return a part rendered with merged data. Raises ``TemplateError``."""
        compiled = self._compiled_part(source, part)
        if part.kind == "header":
            own, owners = self._snippets, self._owner_snippets
            dynamic = self._transmission.substitution_data
        else:
            own, owners = self._marked_snippets, self._marked_owner_snippets
            dynamic = self._marked_dynamic
        return compiled.chunks(
            data, snippets=own, owner_snippets=owners, dynamic=dynamic, budget=budget
        )

    def _compiled_part(self, source: str, part: TemplatePart) -> CompiledPart:
        compiled = self._compiled.get((source, part))
        if compiled is None:
            compiled = compile_part(source if part.kind == "header" else mark(source), part)
            self._compiled[source, part] = compiled
        return compiled

    @cached_property
    def _marked_dynamic(self) -> Json:
        data = self._transmission.substitution_data
        return data | {name: mark_all(data[name]) for name in _DYNAMIC if name in data}


def _marked(source: SnippetSource) -> SnippetSource:
    """Return a source of snippets with their links marked; each is marked once."""
    seen: dict[str, Mapping[str, Any] | None] = {}

    def content_of(snippet_id: str) -> Mapping[str, Any] | None:
        if snippet_id not in seen:
            content = source(snippet_id)
            seen[snippet_id] = content and mark_all(dict(content))
        return seen[snippet_id]

    return content_of
