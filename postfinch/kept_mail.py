"""Read messages that are kept in files: single ones (.eml), mbox files and Maildirs.

Messages are read one after the other, so that an archive of any size takes the memory of its
largest message.
"""

from __future__ import annotations

import mailbox
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

#: The largest message that the mailbox takes
MOST_OCTETS = 50 * 1024 * 1024

_ESCAPED_FROM = re.compile(rb"^>(>*From )", re.MULTILINE)
_PARTS_OF_MAILDIR = ("cur", "new")
_SUFFIX = ".eml"


@dataclass(frozen=True, slots=True)
class KeptMessage:
    """A message with the name of its file, and its place in it; or why it cannot be read."""

    name: str
    content: bytes = b""
    problem: str = ""


def read(paths: Iterable[Path]) -> Iterator[KeptMessage]:
    """Yield the messages of files and folders; a folder that is no Maildir has .eml files."""
    for path in paths:
        try:
            yield from _read(path)
        except (OSError, mailbox.Error) as error:
            yield KeptMessage(str(path), problem=_reason(error))


def _read(path: Path) -> Iterator[KeptMessage]:
    if _is_maildir(path):
        yield from _of_maildir(path)
    elif path.is_dir():
        yield from _of_folder(path)
    else:
        yield from _of_file(path)


def _is_maildir(path: Path) -> bool:
    return all((path / part).is_dir() for part in _PARTS_OF_MAILDIR)


def _of_folder(path: Path) -> Iterator[KeptMessage]:
    """Yield what is in a folder and those within it, in the order of names."""
    is_empty = True
    for each in sorted(path.iterdir()):
        is_folder = each.is_dir() and not each.is_symlink()
        if is_folder or each.suffix.lower() in (_SUFFIX, ".mbox"):
            is_empty = False
            yield from read([each])
    if is_empty:
        yield KeptMessage(str(path), problem="it has no .eml or .mbox file, and is no Maildir")


def _of_maildir(path: Path) -> Iterator[KeptMessage]:
    """Yield the messages of a Maildir and of its folders (``.Sent``), oldest file name first."""
    for part in _PARTS_OF_MAILDIR:
        for each in sorted((path / part).iterdir()):
            if each.is_file() and not each.name.startswith("."):
                yield _whole_file(each)
    for each in sorted(path.glob(".*")):
        if _is_maildir(each):
            yield from _of_maildir(each)


def _of_file(path: Path) -> Iterator[KeptMessage]:
    with path.open("rb") as file:
        is_mbox = file.read(5) == b"From "
    if is_mbox:
        yield from _of_mbox(path)
    else:
        yield _whole_file(path)


def _of_mbox(path: Path) -> Iterator[KeptMessage]:
    box = mailbox.mbox(path, create=False)
    try:
        for number, key in enumerate(box.iterkeys(), 1):
            name = f"{path}, message {number}"
            try:
                content = box.get_bytes(key)
            except (OSError, mailbox.Error, ValueError) as error:
                yield KeptMessage(name, problem=_reason(error))
                continue
            yield _checked(name, _ESCAPED_FROM.sub(rb"\1", content))
    finally:
        box.close()


def _whole_file(path: Path) -> KeptMessage:
    try:
        if path.stat().st_size > MOST_OCTETS:
            return _too_large(str(path))
        return _checked(str(path), path.read_bytes())
    except OSError as error:
        return KeptMessage(str(path), problem=_reason(error))


def _checked(name: str, content: bytes) -> KeptMessage:
    if len(content) > MOST_OCTETS:
        return _too_large(name)
    return (
        KeptMessage(name, content) if content.strip() else KeptMessage(name, problem="it is empty")
    )


def _too_large(name: str) -> KeptMessage:
    return KeptMessage(name, problem=f"it has more than {MOST_OCTETS} bytes")


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or "it is damaged"
