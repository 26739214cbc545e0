"""Store what a request brings to a template: content of a version, and the data of its previews."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from chalicelib.core.dynamo import Write
from chalicelib.core.json_types import Json
from chalicelib.templates.model import Template
from chalicelib.templates.store import bodies
from chalicelib.templates.store.bodies import Body


@dataclass(frozen=True, slots=True)
class NewBodies:
    """Bodies that are stored with the record that refers to them.

    ``removes_preview`` says that the request removes the preview data.
    """

    content: Body | None
    preview: Body | None
    removes_preview: bool

    @classmethod
    def prepare(cls, account_id: int, content: Json | None, preview_data: Json | None) -> Self:
        """Return what is new; ``None`` is left as it is, and empty preview data is removed."""
        return cls(
            bodies.prepare(account_id, content) if content is not None else None,
            bodies.prepare(account_id, preview_data) if preview_data else None,
            preview_data == {},
        )

    @property
    def content_ref(self) -> str | None:
        """The reference of the new content, if there is any."""
        return self.content.ref if self.content else None

    def with_preview(self, template: Template) -> Template:
        """Return the template with the new preview data, if the request has any."""
        if self.preview:
            return replace(template, preview_ref=self.preview.ref)
        return replace(template, preview_ref="") if self.removes_preview else template

    def writes(self, partition: str) -> list[Write]:
        """Return the actions for the transaction that makes the template refer to them."""
        return [write for body in self._bodies for write in body.writes(partition)]

    def discard(self) -> None:
        """Delete what was stored at once and no template refers to."""
        bodies.discard(body.ref for body in self._bodies)

    @property
    def _bodies(self) -> list[Body]:
        return [body for body in (self.content, self.preview) if body]
