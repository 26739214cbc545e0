from __future__ import annotations

from pathlib import Path

import pytest

from infrastructure.local.catching.choices import IMPLICIT, SEND, CatchChoices


def test_nothing_chosen_is_one_inbox_that_keeps_everything_from_anybody() -> None:
    assert CatchChoices.read({"CATCH": "", "CATCH_INBOX": ""}) == CatchChoices()


def test_choices_are_read(tmp_path: Path) -> None:
    path = tmp_path / "passwords"
    path.write_text("ann:secret\n")
    choices = CatchChoices.read(
        {
            "CATCH": "send",
            "CATCH_INBOX": "tag",
            "CATCH_PASSWORDS": str(path),
            "CATCH_RECIPIENTS": "*@inbox.test, bob@b.test",
            "CATCH_TLS": "implicit",
            "MAILBOX_MAX_MESSAGES": "500",
            "MAILBOX_MAX_AGE": "12h",
        }
    )
    assert (choices.way, choices.inbox_by, choices.tls) == (SEND, "tag", IMPLICIT)
    assert (choices.max_messages, choices.max_age) == (500, 43_200)
    assert choices.recipients is not None
    assert choices.recipients.beyond(["ann@inbox.test", "bob@b.test", "x@b.test"]) == ["x@b.test"]
    assert choices.passwords is not None
    assert choices.passwords.is_right("ann", "secret")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("CATCH", "keep"),
        ("CATCH_INBOX", "sender"),
        ("CATCH_PASSWORDS", "/nowhere/passwords"),
        ("CATCH_RECIPIENTS", "inbox.test"),
        ("CATCH_RECIPIENTS", "/(/"),
        ("CATCH_TLS", "true"),
        ("MAILBOX_MAX_MESSAGES", "-1"),
        ("MAILBOX_MAX_AGE", "soon"),
    ],
)
def test_a_choice_that_cannot_work_is_refused_with_its_name(name: str, text: str) -> None:
    with pytest.raises(ValueError, match=name):
        CatchChoices.read({name: text})
