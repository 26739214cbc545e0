"""Validate the Authenticated Received Chain of a message (RFC 8617 5.2)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from chalicelib.core import dns
from chalicelib.core.dns import TextLookup
from chalicelib.dkim.signature_check import (
    FAIL,
    PASS,
    TEMPORARY,
    KeyProblem,
    Outcome,
    check_signature,
    usable_key,
    without_signature,
)
from chalicelib.dkim.signature_field import (
    BadField,
    field_tags,
    key_name,
    read_algorithm,
    read_base64,
    read_domain,
    read_message_signature,
    require,
)
from chalicelib.dkim.signed_message import HeaderField, SignedMessage, relaxed_field

RESULTS: Final = b"arc-authentication-results"
MESSAGE: Final = b"arc-message-signature"
SEAL: Final = b"arc-seal"
MOST_SETS: Final = 50
"""Sets of a chain (RFC 8617 5.1.1)."""

NONE: Final = "none"
_MOST_MESSAGE_CHECKS: Final = 5
_INSTANCE: Final = re.compile(rb"[ \t\r\n]*i[ \t\r\n]*=[ \t\r\n]*0*([1-9][0-9]?)[ \t\r\n]*(?:;|\Z)")
_SEAL_TAGS: Final = ("i", "a", "b", "cv", "d", "s")


@dataclass(frozen=True, slots=True)
class ArcChain:
    """The state of a chain: none, pass, fail or temperror, and why.

    ``sets`` is how many there are, ``sealer`` the domain of the last seal. ``oldest_pass`` is the
    lowest instance whose signature of the message is still valid, 0 if all are (RFC 8617 5.2). It
    is ``None`` of a chain that does not pass, and where it takes too long to tell.
    """

    result: str
    reason: str = ""
    sets: int = 0
    sealer: str = ""
    oldest_pass: int | None = None


class _Broken(Exception):
    """The chain does not pass."""

    def __init__(self, reason: str, result: str = FAIL) -> None:
        super().__init__(reason)
        self.result = result


@dataclass(slots=True)
class _Set:
    """The three fields of one instance."""

    results: HeaderField
    message: HeaderField
    seal: HeaderField
    tags: dict[str, str]


def chain_of(message: SignedMessage, texts: TextLookup = dns.texts) -> ArcChain:
    """Return the state of a message's chain."""
    fields = arc_fields(message)
    if not fields:
        return ArcChain(NONE)
    sets: list[_Set] = []
    try:
        sets = _read_sets(fields)
        _check_states(sets)
        _check_message(message, sets, len(sets), texts)
        _check_seals(sets, texts)
    except _Broken as error:
        return ArcChain(error.result, str(error), len(sets), _sealer(sets))
    oldest_pass = _oldest_pass(message, sets, texts)
    return ArcChain(PASS, "", len(sets), _sealer(sets), oldest_pass)


def arc_fields(message: SignedMessage) -> list[HeaderField]:
    """Return the fields of all sets of a message."""
    return [field for field in message.fields if field.name in (RESULTS, MESSAGE, SEAL)]


def _sealer(sets: list[_Set]) -> str:
    return sets[-1].tags.get("d", "").lower()[:253] if sets else ""


def _read_sets(fields: list[HeaderField]) -> list[_Set]:
    if len(fields) > 3 * MOST_SETS:
        raise _Broken(f"there are more than {MOST_SETS} sets")
    by_instance: dict[int, dict[bytes, HeaderField]] = {}
    for field in fields:
        match = _INSTANCE.match(field.value)
        instance = int(match[1]) if match else _tagged_instance(field)
        if by_instance.setdefault(instance, {}).setdefault(field.name, field) is not field:
            raise _Broken(f"a field of set {instance} occurs twice")
    if sorted(by_instance) != list(range(1, len(by_instance) + 1)):
        raise _Broken("a set is missing")
    return [_read_set(instance, by_instance[instance]) for instance in sorted(by_instance)]


def _tagged_instance(field: HeaderField) -> int:
    """Return the instance of a field whose i= is not its first tag."""
    try:
        text = field_tags(field.value).get("i", "")
    except BadField as error:
        raise _Broken(f"an {field.name.decode()} cannot be read: {error}") from None
    if not re.fullmatch("0*[1-9][0-9]?", text):
        raise _Broken("a field has no instance")
    return int(text)


def _read_set(instance: int, fields: dict[bytes, HeaderField]) -> _Set:
    if len(fields) != 3:
        raise _Broken(f"set {instance} is not complete")
    try:
        tags = field_tags(fields[SEAL].value)
        require(tags, _SEAL_TAGS)
    except BadField as error:
        raise _Broken(f"the seal of set {instance} cannot be read: {error}") from None
    if "h" in tags:
        raise _Broken(f"the seal of set {instance} has a tag h")
    return _Set(fields[RESULTS], fields[MESSAGE], fields[SEAL], tags)


def _check_states(sets: list[_Set]) -> None:
    """Check what each seal says of the chain before it; that of a broken chain may be any."""
    if sets[-1].tags["cv"].lower() == FAIL:
        raise _Broken("the last seal says that the chain is broken")
    for instance, each in enumerate(sets, 1):
        if each.tags["cv"].lower() != (NONE if instance == 1 else PASS):
            raise _Broken(f"the seal of set {instance} has a wrong cv=")


def _check_message(
    message: SignedMessage, sets: list[_Set], instance: int, texts: TextLookup
) -> None:
    """Check one signature of the message."""
    field = sets[instance - 1].message
    try:
        signature = read_message_signature(field_tags(field.value))
    except BadField as error:
        raise _Broken(f"the signature of set {instance} cannot be read: {error}") from None
    _require(check_signature(message, field, signature, texts), f"the signature of set {instance}")


def _require(outcome: Outcome, what: str) -> None:
    if outcome.result != PASS:
        result = TEMPORARY if outcome.result == TEMPORARY else FAIL
        raise _Broken(f"{what} is not valid: {outcome.reason}", result)


def _check_seals(sets: list[_Set], texts: TextLookup) -> None:
    """Check all seals; each signs the sets before it and its own (RFC 8617 5.1.1)."""
    digest = sha256()
    for instance, each in enumerate(sets, 1):
        digest.update(each.results.relaxed)
        digest.update(each.message.relaxed)
        _check_seal(each, digest.copy(), instance, texts)
        digest.update(each.seal.relaxed)


def _check_seal(each: _Set, digest: Any, instance: int, texts: TextLookup) -> None:
    what = f"the seal of set {instance}"
    digest.update(relaxed_field(SEAL, without_signature(each.seal)).removesuffix(b"\r\n"))
    try:
        name = key_name(read_domain(each.tags, "s"), read_domain(each.tags, "d"))
        key = usable_key(name, read_algorithm(each.tags), texts)
        is_valid = key.verifies(read_base64(each.tags, "b"), digest.digest())
    except BadField as error:
        raise _Broken(f"{what} cannot be read: {error}") from None
    except KeyProblem as problem:
        _require(problem.outcome, what)
        return
    if not is_valid:
        raise _Broken(f"{what} is not valid")


def _oldest_pass(message: SignedMessage, sets: list[_Set], texts: TextLookup) -> int | None:
    """Return the lowest instance of the run of valid signatures, 0 if it is the first one.

    Each check may hash the whole body, so a long run is followed only so far; then it is ``None``.
    """
    last = len(sets)
    for instance in range(last - 1, max(0, last - _MOST_MESSAGE_CHECKS), -1):
        try:
            _check_message(message, sets, instance, texts)
        except _Broken:
            return instance + 1
    return None if last > _MOST_MESSAGE_CHECKS else 0
