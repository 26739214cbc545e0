"""Look up the DNS records that one message needs, side by side, from a cache of the process.

Names come from strangers: one that cannot be a domain name has no records. Values are plain: an
address, a name in lower case, or the text of a TXT record.

- An answer is kept for its TTL, at most :data:`LONGEST_SECONDS`. Failures are not kept.
- All look-ups of one :class:`Lookups` end within its time.
- What several messages ask at a time is asked once.
"""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from ipaddress import ip_address
from typing import Any, Final

from chalicelib.core import caches
from chalicelib.core.dns import LookupFailed, lookup_with_lifetime
from chalicelib.core.domain_names import LONGEST, LONGEST_LABEL, in_a_labels

LONGEST_SECONDS: Final = 300.0
"""How long an answer is kept, whatever its TTL: a changed key or policy counts after that."""

MOST_ANSWERS: Final = 2048
MOST_CHARACTERS: Final = 4096
"""Answers that are kept, and characters of one of them: strangers decide about both."""

_THREADS: Final = 16

Values = tuple[str, ...]
_Question = tuple[str, str]

_READERS: Final[dict[str, Callable[[Any], str]]] = {
    "A": lambda record: str(record.address),
    "AAAA": lambda record: str(record.address),
    "PTR": lambda record: _plain(record.target),
    "MX": lambda record: _plain(record.exchange),
    "TXT": lambda record: b"".join(record.strings).decode("utf-8", "replace"),
}


class Lookups:
    """The look-ups for one message, which take at most ``seconds`` in all.

    Several threads may use one. A fresh one asks the DNS, whatever the process knows already.
    """

    def __init__(self, seconds: float, *, is_fresh: bool = False) -> None:
        self._until = time.monotonic() + seconds
        self._is_fresh = is_fresh
        self._lock = threading.Lock()
        self._running: dict[_Question, Future[Values]] = {}
        self._own: set[_Question] = set()

    def start(self, questions: Iterable[_Question]) -> None:
        """Begin to look up each (name, type) that is not in the cache, in threads."""
        for name, kind in questions:
            question = name.lower(), kind
            if self._cached(question) is None:
                future, is_new = self._join(question)
                if is_new:
                    _threads().submit(_settle, future, self._ask, question)

    def values(self, name: str, kind: str) -> Values:
        """Return the records of one type, those of MX by preference.

        Raises ``dns.LookupFailed``, also when the time is up.
        """
        question = name.lower(), kind
        if (values := self._cached(question)) is not None:
            return values
        future, is_new = self._join(question)
        if is_new:
            _settle(future, self._ask, question)
        try:
            return future.result(max(0.0, self._until - time.monotonic()))
        except TimeoutError:
            raise LookupFailed(name, "the time is up") from None
        except LookupFailed:
            if question in self._own:
                raise
            return self._ask(question)  # the other may have had less time

    def texts(self, name: str) -> list[str]:
        """Return the TXT records of a name; raises as :meth:`values`."""
        return list(self.values(name, "TXT"))

    def host_names(self, address: str) -> Values:
        """Return the names in the PTR records of an IP address; raises as :meth:`values`."""
        return self.values(ip_address(address).reverse_pointer, "PTR")

    def _join(self, question: _Question) -> tuple[Future[Values], bool]:
        """Return what will have the answer, and whether the caller is the one that must ask."""
        with self._lock:
            if future := self._running.get(question):
                return future, False
            future, is_new = _asked.join(question, is_shared=not self._is_fresh)
            self._running[question] = future
            if is_new:
                self._own.add(question)
            return future, is_new

    def _cached(self, question: _Question) -> Values | None:
        return None if self._is_fresh else _answers.get(question)

    def _ask(self, question: _Question) -> Values:
        name, kind = question
        labels = _labels(name)
        if labels is None:
            return ()
        remaining = self._until - time.monotonic()
        if remaining <= 0:
            raise LookupFailed(name, "the time is up")
        import dns.name

        records, lifetime = lookup_with_lifetime(dns.name.Name(labels), kind, remaining)
        if kind == "MX":
            records.sort(key=lambda record: record.preference)
        values = tuple(map(_READERS[kind], records))
        _answers.put(question, values, lifetime)
        return values


def remember(name: str, kind: str, values: Values, seconds: float = LONGEST_SECONDS) -> None:
    """Keep an answer as if the DNS had given it, for simulations and benchmarks."""
    _answers.put((name, kind), values, seconds)


def _settle(
    future: Future[Values], ask: Callable[[_Question], Values], question: _Question
) -> None:
    """Ask in this thread; others that need the same answer wait for it."""
    try:
        future.set_result(ask(question))
    except Exception as error:
        future.set_exception(error)
    finally:
        _asked.remove(question, future)


def _labels(name: str) -> list[bytes] | None:
    """Return the labels of a name with its root, ``None`` if no name has them."""
    plain = in_a_labels(name.removesuffix("."))
    if not plain or not plain.isascii() or len(plain) > LONGEST:
        return None
    labels = plain.encode("ascii").split(b".")
    if not all(0 < len(label) <= LONGEST_LABEL for label in labels):
        return None
    return [*labels, b""]


def _plain(name: Any) -> str:
    return str(name.to_text(omit_final_dot=True)).lower()


class _Answers:
    """The answers that this process keeps; the one that was used longest ago goes first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._items: OrderedDict[_Question, tuple[float, Values]] = OrderedDict()

    def get(self, question: _Question) -> Values | None:
        with self._lock:
            expiry, values = self._items.get(question, (0.0, ()))
            if expiry <= time.monotonic():
                return None
            self._items.move_to_end(question)
            return values

    def put(self, question: _Question, values: Values, lifetime: float) -> None:
        if lifetime <= 0 or sum(map(len, values)) > MOST_CHARACTERS:
            return
        with self._lock:
            expiry = time.monotonic() + min(lifetime, LONGEST_SECONDS)
            self._items[question] = expiry, values
            self._items.move_to_end(question)
            if len(self._items) > MOST_ANSWERS:
                self._items.popitem(last=False)

    def clear(self) -> None:
        with self._lock:
            self._items.clear()


class _Asked:
    """The questions to which an answer is under way."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._futures: dict[_Question, Future[Values]] = {}

    def join(self, question: _Question, *, is_shared: bool) -> tuple[Future[Values], bool]:
        """Return what will have the answer, and whether it is new."""
        own = Future[Values]()
        if not is_shared:
            return own, True
        with self._lock:
            future = self._futures.setdefault(question, own)
            return future, future is own

    def remove(self, question: _Question, future: Future[Values]) -> None:
        with self._lock:
            if self._futures.get(question) is future:
                del self._futures[question]


_answers = _Answers()
_asked = _Asked()
caches.register(lambda: _answers.clear())


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_THREADS, thread_name_prefix="dns")


def _forget() -> None:
    """Begin again in a fork: the threads of its parent do not live on in it."""
    global _answers, _asked
    _threads.cache_clear()
    _answers = _Answers()
    _asked = _Asked()


os.register_at_fork(after_in_child=_forget)
