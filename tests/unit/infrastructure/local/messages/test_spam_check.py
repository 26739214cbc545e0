"""A message is judged by the spam checker of the setting."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from chalicelib.core.settings import settings
from infrastructure.local.messages.parts import StoredMessage
from infrastructure.local.messages.spam_check import RuleScore, SpamCheck, spam_check
from tests.unit.infrastructure.local.messages.sample_message import stored
from tests.unit.mail_verdicts.test_scans import JSON, MESSAGE, REPORT, Scanner

Use = Callable[[str], SpamCheck]


@pytest.fixture
def scanner() -> Iterator[Scanner]:
    scanner = Scanner()
    yield scanner
    scanner.close()


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch) -> Use:
    def ask(checker: str) -> SpamCheck:
        monkeypatch.setenv("SPAM_CHECK", checker)
        settings.cache_clear()
        return spam_check(StoredMessage(stored(MESSAGE)))

    return ask


def test_spamd_tells_the_rules_with_descriptions(scanner: Scanner, ask: Use) -> None:
    scanner.answer(REPORT, MESSAGE)
    check = ask(f"spamd://127.0.0.1:{scanner.port}")
    # Without the lines that the mailbox puts before it
    assert scanner.request == b"REPORT SPAMC/1.5\r\nContent-length: 25\r\n\r\n" + MESSAGE
    received = "Informational: message has no Received headers"
    assert check == SpamCheck(
        True,
        1000.0,
        "",
        [
            RuleScore("GTUBE", 1000.0, "BODY: Generic Test for Unsolicited Bulk Email"),
            RuleScore("NO_RECEIVED", 0.0, received),
            RuleScore("TVD_SPACE_RATIO", 0.5, "no description"),
        ],
    )


def test_rspamd_tells_the_rules(scanner: Scanner, ask: Use) -> None:
    scanner.answer(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + JSON, MESSAGE)
    check = ask(f"rspamd://127.0.0.1:{scanner.port}")
    assert b"From: b@bounce.test" in scanner.request
    rules = [RuleScore("ONCE_RECEIVED", 0.1, ""), RuleScore("MIME_GOOD", -0.1, "")]
    assert check == SpamCheck(True, 7.3, "", rules)


def test_a_checker_that_does_not_answer_is_an_error_of_the_check(ask: Use) -> None:
    scanner = Scanner()
    scanner.close()
    check = ask(f"spamd://127.0.0.1:{scanner.port}")
    assert (check.is_spam, check.rules) == (False, [])
    assert check.error.startswith("spamd does not answer")
