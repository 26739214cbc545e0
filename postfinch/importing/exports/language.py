"""Translate the template languages of other services: what has no counterpart stays as it is."""

from __future__ import annotations

import re
from collections.abc import Callable

_TAG = re.compile(r"\{\{\{(.*?)\}\}\}|\{\{(.*?)\}\}", re.DOTALL)
_PATH = re.compile(r"[A-Za-z_][\w\-]*(?:\.[A-Za-z_][\w\-]*)*")
_LITERAL = re.compile(r"'[^']*'|\"[^\"]*\"|-?\d+(?:\.\d+)?|true|false")
_ARGUMENT = re.compile(r"'[^']*'|\"[^\"]*\"|\S+")
_DEFAULT = re.compile(r"insert\s+(\S+)\s+[\"']default=(.*)[\"']")
_COMPARISONS = {
    "equals": "==",
    "notEquals": "!=",
    "greaterThan": ">",
    "lessThan": "<",
    "and": "and",
    "or": "or",
}
_MERGE_TAG = re.compile(r"\*\|(.+?)\|\*")
_CONDITION = re.compile(r"(IF|IFNOT|ELSEIF):(\w+)\s*(?:(!?=)\s*(.*))?")


class _Unknown(Exception):
    """A tag has no counterpart."""


def handlebars(source: str) -> str:
    """Translate Handlebars and Mustache: values, ``#if``, ``#unless``, ``#each`` and comparisons.

    A tag without counterpart stays, and is an error of the service's language at its line.
    """
    blocks: list[str] = []

    def translated(match: re.Match[str]) -> str:
        raw, tag = match[1], match[2]
        try:
            if raw is not None:
                return "{{{" + _value(raw.strip(), blocks) + "}}}"
            return _tag(tag.strip().strip("~").strip(), blocks)
        except _Unknown:
            return match[0]

    return _TAG.sub(translated, source)


def merge_tags(source: str) -> str:
    """Translate Mailchimp's merge tags: values, and conditions that compare one value."""

    def translated(match: re.Match[str]) -> str:
        tag = match[1].strip()
        if tag == "END:IF":
            return "{{end}}"
        if tag == "ELSE:":
            return "{{else}}"
        if condition := _CONDITION.fullmatch(tag):
            return _merge_condition(*condition.groups())
        if tag.startswith("HTML:") and tag[5:].isidentifier():
            return "{{{" + tag[5:] + "}}}"
        return "{{" + tag + "}}" if tag.isidentifier() else match[0]

    return _MERGE_TAG.sub(translated, source)


def remaining_merge_tags(source: str) -> list[str]:
    """Return the merge tags that were not translated."""
    return [f"*|{tag}|*" for tag in dict.fromkeys(_MERGE_TAG.findall(source))]


def _merge_condition(word: str, name: str, operator: str | None, value: str | None) -> str:
    start = "elseif" if word == "ELSEIF" else "if"
    if operator:
        text = (value or "").strip().strip("'\"").replace("'", "")
        sign = "==" if (operator == "=") != (word == "IFNOT") else "!="
        return "{{" + f"{start} {name} {sign} '{text}'" + "}}"
    return "{{" + f"{start} {'not ' if word == 'IFNOT' else ''}{name}" + "}}"


def _tag(tag: str, blocks: list[str]) -> str:
    if tag.startswith("!"):
        return ""
    if tag.startswith("#"):
        return _opening(tag[1:].strip(), blocks)
    if tag.startswith("/"):
        if not blocks:
            raise _Unknown
        blocks.pop()
        return "{{end}}"
    if tag in ("else", "^"):
        if not blocks or blocks[-1] != "if":
            raise _Unknown
        return "{{else}}"
    if tag.startswith("else if "):
        return "{{elseif " + _value(tag.removeprefix("else if ").strip(), blocks) + "}}"
    if match := _DEFAULT.fullmatch(tag):
        default = match[2].replace("'", "")
        return "{{" + f"{_value(match[1], blocks)} or '{default}'" + "}}"
    return "{{" + _value(tag, blocks) + "}}"


def _opening(tag: str, blocks: list[str]) -> str:
    word, *arguments = _ARGUMENT.findall(tag)
    kinds: dict[str, Callable[[str], str]] = {
        "if": lambda path: f"if {path}",
        "unless": lambda path: f"if not {path}",
        "each": lambda path: f"each {path}",
    }
    if word in kinds and len(arguments) == 1:
        statement = kinds[word](_value(arguments[0], blocks))
    elif word in _COMPARISONS and len(arguments) == 2:
        first, second = (_value(each, blocks) for each in arguments)
        statement = f"if {first} {_COMPARISONS[word]} {second}"
    else:
        blocks.append("unknown")
        raise _Unknown
    blocks.append("each" if word == "each" else "if")
    return "{{" + statement + "}}"


def _value(text: str, blocks: list[str]) -> str:
    """Return a path or a literal; inside ``#each``, a path is one of the item."""
    depth = blocks.count("each")
    if _LITERAL.fullmatch(text):
        return text
    if text.startswith("@root."):
        text, depth = text.removeprefix("@root."), 0
    elif text.startswith("../") and depth == 1:
        text, depth = text.removeprefix("../"), 0
    elif depth and (text == "this" or text.startswith("this.")):
        return "loop_var" + text.removeprefix("this")
    if not _PATH.fullmatch(text):
        raise _Unknown
    return f"loop_var.{text}" if depth else text
