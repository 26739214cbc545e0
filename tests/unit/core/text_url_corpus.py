"""Read the corpus of texts with URLs, ``urls_in_texts.txt``."""

from __future__ import annotations

import re
from pathlib import Path

_FILE = Path(__file__).with_name("urls_in_texts.txt")
_URL = re.compile("⟦(.*?)⟧", re.DOTALL)
_ESCAPE = re.compile(r"\\u([0-9a-f]{4})")
_CONTROLS = {r"\n": "\n", r"\r": "\r", r"\t": "\t"}


def corpus() -> list[tuple[str, list[str]]]:
    """Return the texts, each with the URLs in it."""
    lines = _FILE.read_text(encoding="utf-8").splitlines()
    return [_entry(line) for line in lines if line and not line.startswith("#")]


def _entry(line: str) -> tuple[str, list[str]]:
    text = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), line)
    for escape, control in _CONTROLS.items():
        text = text.replace(escape, control)
    return _URL.sub(r"\1", text), _URL.findall(text)
