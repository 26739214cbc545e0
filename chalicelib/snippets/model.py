"""Define a snippet and its limits (spec 2.4)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from chalicelib.core import audit

LONGEST_NAME = 1024
PART_BYTES = 100 * 1024


@dataclass(frozen=True, slots=True)
class Snippet:
    """One snippet; ``revision`` changes with each change of the record.

    ``preview_data`` is what its previews are made with.
    """

    account_id: int
    subaccount_id: int | None
    id: str
    name: str
    shared: bool
    content: Mapping[str, str]
    created_ms: int
    updated_ms: int
    revision: str
    preview_data: Mapping[str, Any] = field(default_factory=dict)


def shown_fields(snippet: Snippet) -> dict[str, Any]:
    """Return the fields of a snippet for the audit log, with digests in place of long ones."""
    preview = json.dumps(snippet.preview_data, sort_keys=True) if snippet.preview_data else None
    return {
        "name": snippet.name,
        "shared_with_subaccounts": snippet.shared,
        **{name: audit.digest(source) for name, source in snippet.content.items()},
        "preview_data": audit.digest(preview),
    }
