"""Keep templates and snippets as files: a folder for each, as it can live in version control.

``<id>/`` of a template and ``_snippets/<id>/`` of a snippet have the settings in ``template.json``
or ``snippet.json``, and each part of the content in a file of its own (:data:`PARTS`). Settings
without ``preview_data`` leave the account's as it is.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from postfinch.json_types import Json

Kind = Literal["template", "snippet"]

SNIPPETS = "_snippets"
PARTS = {
    "html": "content.html",
    "mjml": "content.mjml",
    "text": "content.txt",
    "amp_html": "content.amp.html",
    "email_rfc822": "content.eml",
}
PREVIEW_DATA = "preview_data"
_IN_CONTENT = ("from", "reply_to", "subject", "headers")
_DEFAULTS: dict[Kind, Json] = {
    "template": {"description": "", "options": {}, "shared_with_subaccounts": False},
    "snippet": {"shared_with_subaccounts": False},
}
# As in the API, without those that version control and file systems treat as special
_ID = re.compile(r"[A-Za-z0-9_\-][A-Za-z0-9_.\-]{0,63}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong in a file, and where; ``line`` and ``column`` count from 1."""

    path: Path
    message: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        place = (str(each) for each in (self.path, self.line, self.column) if each is not None)
        return f"{':'.join(place)}: {self.message}"


class Unreadable(Exception):
    """A folder cannot be read as a template or snippet."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        super().__init__(str(fault))


@dataclass(frozen=True, slots=True)
class Item:
    """A template or a snippet: its content, and its other fields as the API has them.

    ``published`` tells whether there is a published version; ``None`` where nothing says so.
    """

    kind: Kind
    id: str
    settings: Json
    content: Json
    published: bool | None = None

    @property
    def folder(self) -> Path:
        """The folder of this item in the folder of all."""
        return Path(SNIPPETS, self.id) if self.kind == "snippet" else Path(self.id)

    @property
    def settings_file(self) -> Path:
        """The file with everything but the parts of the content."""
        return self.folder / f"{self.kind}.json"

    def changes_from(self, other: Item) -> list[str]:
        """Return the names of the fields and parts that differ."""
        pairs = ((self.settings, other.settings), (self.content, other.content))
        return [
            name
            for own, their in pairs
            for name in sorted({*own, *their})
            if own.get(name) != their.get(name) and (name in own or name != PREVIEW_DATA)
        ]


def from_api(kind: Kind, view: Mapping[str, Any]) -> Item:
    """Return the item that the API shows."""
    settings = {name: view.get(name) or value for name, value in _DEFAULTS[kind].items()}
    settings["name"] = view["name"]
    if view.get(PREVIEW_DATA):
        settings[PREVIEW_DATA] = view[PREVIEW_DATA]
    published = bool(view.get("has_published")) if kind == "template" else None
    content = _present(view["content"])
    if "mjml" in content:
        content.pop("html", None)  # the service compiles it again
    return Item(kind, view["id"], settings, content, published)


def can_have_folder(item_id: str) -> bool:
    """Tell whether an id can be the name of a folder, and means no other one."""
    return _ID.fullmatch(item_id) is not None and item_id != SNIPPETS


def files(item: Item) -> dict[Path, bytes]:
    """Return the files of an item and their bytes."""
    defaults = _DEFAULTS[item.kind]
    own = {name: value for name, value in item.settings.items() if value != defaults.get(name)}
    fields = {"name": own.pop("name"), **own}
    if item.published is not None:
        fields["published"] = item.published
    fields |= {name: item.content[name] for name in _IN_CONTENT if name in item.content}
    text = json.dumps(fields, indent=2, ensure_ascii=False) + "\n"
    parts = {
        item.folder / name: item.content[part].encode()
        for part, name in PARTS.items()
        if part in item.content
    }
    return {item.settings_file: text.encode(), **parts}


def write(root: Path, item: Item) -> list[Path]:
    """Write the files of an item that differ, and remove its other parts; return the changed."""
    new = files(item)
    changed = [path for path, data in new.items() if _bytes(root / path) != data]
    for path in changed:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(new[path])
    for name in PARTS.values():
        path = item.folder / name
        if path not in new and (root / path).exists():
            (root / path).unlink()
            changed.append(path)
    return changed


def read_all(root: Path) -> Iterator[Item | Fault]:
    """Yield the snippets and templates of a folder, and what is wrong with the others."""
    for kind, parent in (("snippet", root / SNIPPETS), ("template", root)):
        if not parent.is_dir():
            continue
        for folder in sorted(parent.iterdir()):
            if not _is_item(folder, kind):
                continue
            try:
                yield read(folder, "snippet" if kind == "snippet" else "template")
            except Unreadable as error:
                yield error.fault


def read(folder: Path, kind: Kind) -> Item:
    """Return the item of a folder; raises Unreadable."""
    settings_file = folder / f"{kind}.json"
    item_id = Path(os.path.abspath(folder)).name
    if not can_have_folder(item_id):
        raise Unreadable(Fault(folder, f"a {kind} cannot have the id {item_id!r}"))
    fields = _fields(settings_file, kind)
    content = {name: fields.pop(name) for name in _IN_CONTENT if name in fields}
    published = fields.pop("published", None)
    for part, name in PARTS.items():
        if (data := _bytes(folder / name)) is not None:
            try:
                content[part] = data.decode()
            except UnicodeDecodeError as error:
                line = data[: error.start].count(b"\n") + 1
                raise Unreadable(Fault(folder / name, "this is not UTF-8", line)) from None
    settings = {"name": item_id, **_DEFAULTS[kind], **fields}
    return Item(kind, item_id, settings, _present(content), published)


def place_of(root: Path, item: Item, error: Mapping[str, Any]) -> Fault:
    """Return the place in the files of an error that the API shows with part and line."""
    message = str(error.get("description") or error.get("message") or "this is not valid")
    part, line, column = (error.get(name) for name in ("part", "line", "column"))
    if "email_rfc822" in item.content:
        detail = f" (part {part}, line {line})" if part else ""
        return Fault(root / item.folder / PARTS["email_rfc822"], message + detail)
    if part in PARTS:
        return Fault(root / item.folder / PARTS[part], message, line, column)
    path = root / item.settings_file
    if part:
        header = str(part).removeprefix("Header:")
        name = {"From": "from", "Subject": "subject", "Reply-To": "reply_to"}.get(header, header)
        return Fault(path, message, _line_of(path, name))
    return Fault(path, message)


def _is_item(folder: Path, kind: str) -> bool:
    """Tell whether a folder is to be read: it has settings, or content that lacks them."""
    if folder.name.startswith(".") or folder.name == SNIPPETS or not folder.is_dir():
        return False
    return any((folder / name).exists() for name in (f"{kind}.json", *PARTS.values()))


def _fields(path: Path, kind: Kind) -> Json:
    data = _bytes(path)
    if data is None:
        raise Unreadable(Fault(path, f"the {kind} has content, but not this file"))
    try:
        fields = json.loads(data)
    except json.JSONDecodeError as error:
        raise Unreadable(Fault(path, f"not JSON: {error.msg}", error.lineno, error.colno)) from None
    except UnicodeDecodeError:
        raise Unreadable(Fault(path, "this is not UTF-8")) from None
    if not isinstance(fields, dict):
        raise Unreadable(Fault(path, "this must be a JSON object"))
    names = {"name", PREVIEW_DATA, *_DEFAULTS[kind]}
    if kind == "template":
        names |= {"published", *_IN_CONTENT}
    for name in fields:
        if name not in names:
            raise Unreadable(Fault(path, f"unknown field {name!r}", _line_of(path, name)))
    return fields


def _line_of(path: Path, name: str) -> int | None:
    """Return the line of a field in a JSON file."""
    text = path.read_text(encoding="utf-8")
    match = re.search(re.escape(json.dumps(name, ensure_ascii=False)) + r"\s*:", text)
    return text.count("\n", 0, match.start()) + 1 if match else None


def _present(content: Mapping[str, Any]) -> Json:
    return {name: value for name, value in content.items() if value not in (None, "", {})}


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
