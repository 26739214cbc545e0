"""Check content without storing it: every error with its place, and what the content refers to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from chalicelib.core.errors import ApiError, ServiceError, bad_format
from chalicelib.core.json_types import Json
from chalicelib.snippets.model import PART_BYTES
from chalicelib.template_language import (
    MJML,
    Analysis,
    SnippetSource,
    TemplatePart,
    analyse,
    merge_data,
)
from chalicelib.template_language.words import AUTOMATIC, LOOP_VARIABLES
from chalicelib.templates.content import (
    StorableContent,
    bad_message,
    header_faults,
    html_beside_mjml,
    limit_tags,
    missing_parts,
    read_fields,
    unreadable_header,
)
from chalicelib.templates.mjml import Compilation
from chalicelib.templates.parts import fill_parts
from chalicelib.templates.prebuilt import MessageError
from chalicelib.templates.request import MOST_NAMES

_Part = tuple[TemplatePart, Analysis]

# What nobody's substitution data needs to hold
_OF_THE_SERVICE = AUTOMATIC | LOOP_VARIABLES


def validate(
    body: StorableContent,
    data: Mapping[str, Any] | None,
    snippets: SnippetSource,
    *,
    as_snippet: bool = False,
) -> Json:
    """Return all errors that storing ``body`` as a template or a snippet would meet, and where.

    The result also has the variables of each part, with ``data`` also whether it lacks them, and
    the snippets that are named literally. Content that is valid may still fail to render.
    """
    errors: list[Json] = []
    parts: list[_Part] = []
    try:
        content = read_fields(body)
        errors += _bodies(_faults_of_snippet(content) if as_snippet else _faults(body, content))
        parts, faults = _analysed(content, as_snippet=as_snippet)
        errors += _bodies(faults)
        if "mjml" in content:
            parts.append((MJML, _compiled(content)))
    except ServiceError as error:
        errors += error.errors
    errors += [error.as_dict() for _, analysis in parts for error in analysis.errors]
    merged = None if data is None else merge_data(transmission_data=data)
    return {
        "valid": not errors,
        "errors": errors,
        "variables": list(islice(_variables(parts, merged), MOST_NAMES)),
        "snippets": list(islice(_snippets(parts, snippets), MOST_NAMES)),
    }


def _faults(body: StorableContent, content: Json) -> Iterator[ApiError]:
    """Yield what a template's content lacks, and its bad header names."""
    if "email_rfc822" not in content:
        yield from missing_parts(body)
    yield from header_faults(content.get("headers", {}))


def _faults_of_snippet(content: Json) -> Iterator[ApiError]:
    for name, source in content.items():
        if name not in ("html", "text", "amp_html"):
            yield bad_format(f"a snippet has no content.{name}")
        elif len(source.encode()) > PART_BYTES:
            yield bad_format(f"content.{name} is over {PART_BYTES} bytes")


def _analysed(content: Json, *, as_snippet: bool) -> tuple[list[_Part], list[ApiError]]:
    """Return the parts of content with their analyses, and faults beyond the template language."""
    parts: list[_Part] = []
    faults: list[ApiError] = []
    limit = limit_tags()

    def analysed(source: str, part: TemplatePart) -> str:
        limit(source)
        if fault := unreadable_header(source, part):
            faults.append(fault)
        parts.append((part, analyse(source, part, snippet=as_snippet)))
        return ""

    # What HTML names, the MJML that it is compiled from names too
    sources = {name: value for name, value in content.items() if name != _derived(content)}
    try:
        fill_parts(sources, analysed)
    except MessageError as fault:
        faults.append(bad_message(fault))
    return parts, faults


def _derived(content: Json) -> str:
    """Return the part that is compiled from another one, if any is."""
    return "html" if "mjml" in content else ""


def _compiled(content: Json) -> Analysis:
    """Return what MJML names, and its errors; raises 422 for HTML that it does not compile to."""
    compilation = Compilation(content["mjml"])
    if not compilation.errors and content.get("html", compilation.html) != compilation.html:
        raise html_beside_mjml()
    return replace(compilation.analysis, errors=compilation.errors)


def _bodies(faults: Iterable[ApiError]) -> list[Json]:
    return [error for fault in faults for error in fault.errors]


def _variables(parts: Iterable[_Part], data: Json | None) -> Iterator[Json]:
    for part, analysis in parts:
        for variable in analysis.variables:
            if variable.keys[0] in _OF_THE_SERVICE:
                continue
            missing = {} if data is None else {"missing": not variable.is_in(data)}
            yield {
                "name": variable.name,
                "part": part.label,
                **variable.place._asdict(),
                "optional": variable.is_optional,
                **missing,
            }


def _snippets(parts: Iterable[_Part], snippets: SnippetSource) -> Iterator[Json]:
    exists: dict[str, bool] = {}
    for part, analysis in parts:
        for snippet_id, place in analysis.snippets.items():
            if snippet_id not in exists:
                exists[snippet_id] = snippets(snippet_id) is not None
            yield {
                "id": snippet_id,
                "part": part.label,
                **place._asdict(),
                "exists": exists[snippet_id],
            }
