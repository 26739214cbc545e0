"""What the route table cannot tell of an operation: what it takes, and what it answers.

Method, path, grant and summary are the route's own; ``document`` adds them and the refusals that
all operations have in common.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chalicelib.openapi.schema import Maybe, Schema, array, record, text

Json = dict[str, Any]
Answers = dict[int, Json]

NO_CONTENT: Answers = {204: {"description": "Done; there is nothing to say"}}
EMPTY: Answers = {200: {"description": "Done; the body is empty"}}


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation.

    ``takes`` are its parameters besides those of the path. ``body`` describes a JSON body;
    ``optional_body`` says that it may be left out; ``media`` stands for bodies of another type.
    ``refusals`` are statuses of errors beyond those of every operation. ``finds_all`` says that
    no parameter of the path can lead to 404.
    """

    answers: Answers
    takes: tuple[Json, ...] = ()
    body: Schema | None = None
    optional_body: bool = False
    media: Mapping[str, Schema] | None = None
    refusals: tuple[int, ...] = ()
    finds_all: bool = False

    @property
    def content(self) -> Json | None:
        """Return the media types of the body, ``None`` if the operation takes none."""
        if self.media is not None:
            return {name: {"schema": schema} for name, schema in self.media.items()}
        return None if self.body is None else {"application/json": {"schema": self.body}}


Operations = Mapping[str, Operation]
"""Operations by method and path, such as ``GET /api/v1/templates/{template_id}``."""


def results(of: Schema, **beside: Schema | Maybe) -> Answers:
    """Answer 200 with ``results``, and further keys beside them."""
    return json(record(results=of, **beside))


def json(schema: Schema) -> Answers:
    """Answer 200 with a JSON body."""
    return content("application/json", schema)


def content(media_type: str, schema: Schema, *, status: int = 200, about: str = "Done") -> Answers:
    """Answer with a body."""
    return {status: {"description": about, "content": {media_type: {"schema": schema}}}}


def page_of_html(status: int, about: str) -> Answers:
    """Answer with a page for people."""
    return content("text/html", text(), status=status, about=about)


def redirect(status: int, about: str) -> Answers:
    """Send the client elsewhere."""
    location = {"Location": {"schema": text(), "required": True}}
    return {status: {"description": about, "headers": location}}


def with_header(answers: Answers, name: str, schema: Schema, about: str) -> Answers:
    """Let answers have a header, but not always."""
    header = {name: {"schema": schema, "description": about}}
    return {status: answer | {"headers": header} for status, answer in answers.items()}


def query(name: str, schema: Schema, about: str, *, required: bool = False) -> Json:
    """Take a query parameter."""
    found = {"name": name, "in": "query", "description": about, "schema": schema}
    return found | ({"required": True} if required else {})


def listed(name: str, about: str, of: Schema | None = None) -> Json:
    """Take a query parameter that is a list with commas between."""
    form = {"style": "form", "explode": False}
    return query(name, array(of or text()), about) | form


def shared(name: str) -> Json:
    """Take a parameter that several operations take."""
    return {"$ref": f"#/components/parameters/{name}"}
