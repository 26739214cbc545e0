"""Show the content of a transmission as it was sent, or as a scheduled one names it (spec 2.2).

Content is stored with its transmission when it is final: inline content at once, that of a template
when the transmission starts. So it is the version that was used, whatever became of the template.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

from chalicelib.core import clock
from chalicelib.core.json_types import Json
from chalicelib.core.settings import settings
from chalicelib.transmissions.model import Transmission
from chalicelib.transmissions.store.transmissions import RETENTION

INLINE: Final = "inline"
TEMPLATE: Final = "template"
AB_TEST: Final = "ab_test"
SOURCES: Final = (INLINE, TEMPLATE, AB_TEST)

_TEXTS: Final = ("html", "text", "amp_html", "email_rfc822")


def content_view(transmission: Transmission) -> Json:
    """Return the content, where it comes from, and until when it is stored.

    The data of attachments is left out, and texts that no reply has room for are cut.
    """
    request = transmission.requested_content
    template_id = transmission.template_id or request.get("template_id", "")
    view: Json = {"source": _source(request, template_id), "final": transmission.resolved}
    if template_id:
        view |= {
            "template_id": template_id,
            "use_draft_template": bool(request.get("use_draft_template")),
        }
    if transmission.template_version:
        view["template_version"] = int(transmission.template_version)
    if "ab_test_id" in request:
        view["ab_test_id"] = request["ab_test_id"]
    stored_until = clock.iso_offset(transmission.created_ms // 1000 + RETENTION)
    content, truncated = _cut(_content(transmission))
    return view | {"content": content, "truncated": truncated, "stored_until": stored_until}


def _source(request: Mapping[str, Any], template_id: str) -> str:
    if "ab_test_id" in request:
        return AB_TEST
    return TEMPLATE if template_id else INLINE


def _content(transmission: Transmission) -> Json:
    if transmission.raw:
        return {"email_rfc822": transmission.raw.decode("utf-8", "replace")}
    files = ("attachments", "inline_images")
    content = {name: each for name, each in transmission.content.items() if name not in files}
    for name in files:
        if name in transmission.content:
            content[name] = [_file_view(file) for file in transmission.content[name]]
    return content | transmission.override


def _file_view(file: Mapping[str, Any]) -> Json:
    view = {name: each for name, each in file.items() if name != "data"}
    return view | {"size": _size(file.get("data", ""))}


def _size(data: str) -> int:
    try:
        return len(base64.b64decode(data))
    except (binascii.Error, ValueError):
        return 0


def _cut(content: Json) -> tuple[Json, list[str]]:
    """Return content whose texts fit into a reply together, and the names of those that are cut."""
    room = settings().max_reply_bytes // 8  # a character may take six bytes in JSON
    truncated = []
    for name in _TEXTS:
        text = content.get(name, "")
        if len(text) > room:
            content[name] = text[:room]
            truncated.append(name)
        room -= len(content.get(name, ""))
    return content, truncated
