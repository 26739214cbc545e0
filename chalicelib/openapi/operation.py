"""Describe an operation of the API: its parameters, its body, its responses and its errors.

The module ``document`` adds the data of the route itself (method, path, grant and summary) and the
errors that all operations share.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from chalicelib.core.json_types import Json
from chalicelib.openapi.schema import Maybe, array, record, text

Responses = dict[int, Json]

NO_CONTENT: Responses = {204: {"description": "Done; no body"}}
EMPTY: Responses = {200: {"description": "Done; empty body"}}


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation.

    ``parameters`` are those that are not in the path. ``body`` describes a JSON body;
    ``optional_body`` says that it may be left out; ``media`` stands for bodies of another type.
    ``refusals`` are statuses of errors beyond those of every operation. ``finds_all`` says that no
    parameter of the path can lead to 404.
    """

    responses: Responses
    parameters: tuple[Json, ...] = ()
    body: Json | None = None
    optional_body: bool = False
    media: Mapping[str, Json] | None = None
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


def results(of: Json, **beside: Json | Maybe) -> Responses:
    """Describe a 200 with ``results`` and the keys ``beside`` them."""
    return json(record(results=of, **beside))


def json(schema: Json) -> Responses:
    """Describe a 200 with a JSON body."""
    return content("application/json", schema)


def content(media_type: str, schema: Json, *, status: int = 200, about: str = "Done") -> Responses:
    """Describe a response with a body."""
    return {status: {"description": about, "content": {media_type: {"schema": schema}}}}


def html_page(status: int, about: str) -> Responses:
    """Describe a response with a web page."""
    return content("text/html", text(), status=status, about=about)


def redirect(status: int, about: str) -> Responses:
    """Describe a redirect."""
    location = {"Location": {"schema": text(), "required": True}}
    return {status: {"description": about, "headers": location}}


def with_header(responses: Responses, name: str, schema: Json, about: str) -> Responses:
    """Add a header to responses that do not always have it."""
    header = {name: {"schema": schema, "description": about}}
    return {status: answer | {"headers": header} for status, answer in responses.items()}


def query(name: str, schema: Json, about: str, *, required: bool = False) -> Json:
    """Describe a query parameter."""
    parameter = {"name": name, "in": "query", "description": about, "schema": schema}
    return parameter | ({"required": True} if required else {})


def comma_list(name: str, about: str, of: Json | None = None) -> Json:
    """Describe a query parameter that is a comma-separated list."""
    form = {"style": "form", "explode": False}
    return query(name, array(of or text()), about) | form


def shared_parameter(name: str) -> Json:
    """Refer to a parameter that several operations have."""
    return {"$ref": f"#/components/parameters/{name}"}
