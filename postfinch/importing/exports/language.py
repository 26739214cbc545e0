"""Translate the template languages of other services: what has no counterpart stays as it is."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

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


@dataclass(frozen=True, slots=True)
class Dialect:
    """What is particular to the templates of one service.

    The service fills in ``own_values`` itself, and the tags that ``own_tags`` matches. With
    ``sections``, ``{{#x}}`` is shown if there is an ``x``, and names inside are those of ``x``.
    """

    own_values: frozenset[str] = frozenset()
    own_tags: re.Pattern[str] | None = None
    sections: bool = False


#: By the name of the service's command; the others have nothing of their own
DIALECTS: Final = {
    "sendgrid": Dialect(
        own_values=frozenset({"unsubscribe", "unsubscribe_preferences", "weblink"}),
        own_tags=re.compile(
            r"<%\s*\w+\s*%>|\[(?:unsubscribe|unsubscribe_preferences|weblink|sender_\w+)\]", re.I
        ),
    ),
    "mailgun": Dialect(
        own_tags=re.compile(
            r"%(?:recipient(?:\.\w+)?|(?:tag_|mailing_list_)?unsubscribe_(?:url|email))%"
        )
    ),
    "postmark": Dialect(sections=True),
}
_OTHER = Dialect()


def translate(source: str, service: str) -> tuple[str, list[str]]:
    """Translate what ``service`` has; return that and the tags without counterpart.

    Those stay, and most of them are errors of the service's language at their line.
    """
    dialect = DIALECTS.get(service, _OTHER)
    handlebars = _Handlebars(dialect)
    text = merge_tags(_TAG.sub(handlebars.translated, source))
    remaining = handlebars.remaining + [f"*|{tag}|*" for tag in _MERGE_TAG.findall(text)]
    if dialect.own_tags:
        remaining += dialect.own_tags.findall(text)
    return text, list(dict.fromkeys(remaining))


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


def _merge_condition(word: str, name: str, operator: str | None, value: str | None) -> str:
    start = "elseif" if word == "ELSEIF" else "if"
    if operator:
        text = (value or "").strip().strip("'\"").replace("'", "")
        sign = "==" if (operator == "=") != (word == "IFNOT") else "!="
        return "{{" + f"{start} {name} {sign} '{text}'" + "}}"
    return "{{" + f"{start} {'not ' if word == 'IFNOT' else ''}{name}" + "}}"


class _Unknown(Exception):
    """A tag has no counterpart."""


@dataclass(frozen=True, slots=True)
class _Block:
    """An open block. Names inside are those of its ``scope``, or of the block around it."""

    kind: str
    scope: _Scope | None = None


@dataclass(frozen=True, slots=True)
class _Scope:
    """The value at ``path`` of the ``parent``, or each item of it in a loop."""

    path: str
    parent: _Scope | None
    is_loop: bool = False


_IF, _UNKNOWN = _Block("if"), _Block("unknown")


class _Handlebars:
    """Handlebars and Mustache: values, ``#if``, ``#unless``, ``#each``, ``#with``, comparisons."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._blocks: list[_Block] = []
        self.remaining: list[str] = []

    def translated(self, match: re.Match[str]) -> str:
        """Return the counterpart of a tag, or the tag."""
        raw, tag = match[1], match[2]
        try:
            if raw is not None:
                return "{{{" + self._value(raw.strip()) + "}}}"
            return self._tag(tag.strip().strip("~").strip(), match[0])
        except _Unknown:
            self.remaining.append(match[0])
            return match[0]

    def _tag(self, tag: str, source: str) -> str:
        if tag.startswith("!"):
            return ""
        if tag.startswith("&"):
            return "{{{" + self._value(tag[1:].strip()) + "}}}"
        if tag.startswith("#"):
            return self._opening(tag[1:].strip())
        if tag.startswith("/"):
            if not self._blocks:
                raise _Unknown
            return source if self._blocks.pop() is _UNKNOWN else "{{end}}"
        if tag in ("else", "^"):
            if self._blocks[-1:] == [_UNKNOWN]:
                return source
            self._end_condition()
            return "{{else}}"
        if tag.startswith("else if "):
            self._end_condition()
            return "{{elseif " + self._value(tag.removeprefix("else if ").strip()) + "}}"
        if tag.startswith("^") and self._dialect.sections:
            return self._open("if not ", tag[1:].strip())
        if match := _DEFAULT.fullmatch(tag):
            default = match[2].replace("'", "")
            return "{{" + f"{self._value(match[1])} or '{default}'" + "}}"
        return "{{" + self._value(tag) + "}}"

    def _opening(self, tag: str) -> str:
        word, *arguments = _ARGUMENT.findall(tag) or [""]
        if word in _COMPARISONS and len(arguments) == 2:
            return self._comparison(_COMPARISONS[word], arguments)
        if len(arguments) == 1:
            if word in ("if", "unless"):
                return self._open("if not " if word == "unless" else "if ", arguments[0])
            if word in ("each", "with"):
                return self._open_scope(arguments[0], is_loop=word == "each")
        if not arguments and self._dialect.sections:
            return self._open_scope(word)
        self._blocks.append(_UNKNOWN)
        raise _Unknown

    def _comparison(self, operator: str, arguments: list[str]) -> str:
        try:
            first, second = map(self._value, arguments)
        except _Unknown:
            self._blocks.append(_UNKNOWN)
            raise
        self._blocks.append(_IF)
        return "{{" + f"if {first} {operator} {second}" + "}}"

    def _open_scope(self, text: str, *, is_loop: bool = False) -> str:
        try:
            parent, path = self._located(text)
        except _Unknown:
            self._blocks.append(_UNKNOWN)
            raise
        scope = _Scope(path, parent, is_loop)
        block = _Block("each" if is_loop else "if", scope)
        return self._open("each " if is_loop else "if ", text, block)

    def _open(self, statement: str, text: str, block: _Block = _IF) -> str:
        try:
            value = self._value(text)
        except _Unknown:
            self._blocks.append(_UNKNOWN)
            raise
        self._blocks.append(block)
        return "{{" + statement + value + "}}"

    def _end_condition(self) -> None:
        """Leave the first part of a condition: what follows is not about its value."""
        if not self._blocks or self._blocks[-1].kind != "if":
            raise _Unknown
        self._blocks[-1] = replace(self._blocks[-1], scope=None)

    def _value(self, text: str) -> str:
        """Return a literal, or how a path is written here."""
        if _LITERAL.fullmatch(text):
            return text
        if text in self._dialect.own_values:
            raise _Unknown
        value = self._reach(*self._located(text))
        if not value:
            raise _Unknown
        return value

    def _located(self, text: str) -> tuple[_Scope | None, str]:
        """Return where a path begins, and the rest of it."""
        scopes = [None, *(each.scope for each in self._blocks if each.scope)]
        if text.startswith("@root."):
            text, scopes = text.removeprefix("@root."), scopes[:1]
        while text.startswith("../"):
            text = text.removeprefix("../")
            scopes.pop()
            if not scopes:
                raise _Unknown
        if scopes[-1] and text in ("this", "."):
            return scopes[-1], ""
        if scopes[-1]:
            text = text.removeprefix("this.")
        if not _PATH.fullmatch(text):
            raise _Unknown
        return scopes[-1], text

    def _reach(self, scope: _Scope | None, path: str) -> str:
        return ".".join(filter(None, (self._start(scope), path)))

    def _start(self, scope: _Scope | None) -> str:
        """Return how the value of a scope is written where the template is now."""
        if scope is None:
            return ""
        if not scope.is_loop:
            return self._reach(scope.parent, scope.path)
        loops = [each.scope for each in self._blocks if each.scope and each.scope.is_loop]
        if scope is loops[-1]:
            return "loop_var"
        name = _last_part(scope)
        if not name or [_last_part(each) for each in loops].count(name) > 1:
            raise _Unknown
        return f"loop_vars.{name}"


def _last_part(scope: _Scope) -> str:
    return scope.path.rpartition(".")[2]
