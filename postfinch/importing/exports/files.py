"""Read the rows of an export: CSV, JSON, JSON lines, or a zip archive of such files."""

from __future__ import annotations

import codecs
import csv
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from postfinch.importing.exports.model import Row, plain

#: Where a document has its rows
_LISTS = (
    "items",
    "result",
    "results",
    "suppressions",
    "suppresseddestinationsummaries",
    "templates",
)
_LARGEST = 512 * 1024 * 1024
_NO_TEXT = "this is neither text in UTF-8 or UTF-16 nor a zip archive"


class BadFile(Exception):
    """A file cannot be read as an export."""


def read(path: Path) -> Iterator[Row]:
    """Yield the rows of a file; raises BadFile."""
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                if sum(each.file_size for each in archive.infolist()) > _LARGEST:
                    raise BadFile("the archive is too large when it is unpacked")
                for name in archive.namelist():
                    if name.lower().endswith((".csv", ".json")):
                        yield from _rows(archive.read(name))
        else:
            yield from _rows(path.read_bytes())
    except UnicodeDecodeError:
        raise BadFile(_NO_TEXT) from None
    except OSError as error:
        raise BadFile((error.strerror or str(error)).lower()) from None
    except (csv.Error, zipfile.BadZipFile) as error:
        raise BadFile(str(error)) from None


def _rows(data: bytes) -> Iterator[Row]:
    text = _decoded(data)
    if not text.strip():
        raise BadFile("it is empty")
    if "\0" in text:
        raise BadFile(_NO_TEXT)
    if text.lstrip().startswith(("{", "[")):
        yield from _json_rows(text)
    else:
        yield from _csv_rows(text)


def _decoded(data: bytes) -> str:
    """Return text in UTF-8, or in UTF-16 as spreadsheets write it."""
    is_wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return data.decode("utf-16" if is_wide else "utf-8-sig")


def _json_rows(text: str) -> Iterator[Row]:
    try:
        documents = [json.loads(text)]
    except ValueError:
        try:
            documents = [json.loads(line) for line in text.splitlines() if line.strip()]
        except ValueError as error:
            raise BadFile(f"this is neither JSON nor JSON lines: {error}") from None
    for document in documents:
        for each in _elements(document):
            if isinstance(each, str):
                yield Row({"email": each})
            elif isinstance(each, dict):
                yield Row.of(each)


def _elements(document: Any) -> list[Any]:
    if isinstance(document, list):
        return document
    for name, value in document.items():
        if plain(name) in _LISTS and isinstance(value, list):
            return value
    # A document about one template
    for name in ("template", "Template"):
        if isinstance(document.get(name), dict):
            return [document[name]]
    return [document]


def _csv_rows(text: str) -> Iterator[Row]:
    csv.field_size_limit(16 * 1024 * 1024)
    heading = text.lstrip("\r\n").partition("\n")[0]
    delimiter = max(",;\t", key=heading.count)
    rows = csv.reader(io.StringIO(text.lstrip("\r\n")), delimiter=delimiter)
    first = next(rows, [])
    names = [plain(each) for each in first]
    if any("@" in each for each in first):  # no heading
        names = ["email", "reason", *names[2:]]
        yield Row(dict(zip(names, first, strict=False)))
    else:
        yield Row(dict.fromkeys(names, ""), is_heading=True)
    for row in rows:
        if any(each.strip() for each in row):
            yield Row(dict(zip(names, row, strict=False)))
