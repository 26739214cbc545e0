"""The catching port fails by chance, as Mailpit's chaos does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from infrastructure.local.releasing.chaos import (
    AUTHENTICATION,
    RECIPIENT,
    SENDER,
    STAGES,
    BadTrigger,
    ChaosFile,
    Trigger,
    Triggers,
    read_setting,
)
from infrastructure.local.releasing.start import begin, release_choices


def triggers_of(document: dict[str, Any]) -> dict[str, dict[str, int]]:
    return Triggers.from_json(document).as_json()


def test_without_a_file_nothing_fails(tmp_path: Path) -> None:
    chaos = ChaosFile(tmp_path)
    assert [chaos.fault(stage) for stage in STAGES] == [None, None, None]
    assert chaos.triggers() is None


def test_a_trigger_applies_as_often_as_its_probability_says(tmp_path: Path) -> None:
    numbers = iter([0, 9, 10, 99])
    chaos = ChaosFile(tmp_path, chance=lambda most: next(numbers))
    chaos.set(Triggers.of({SENDER: Trigger(421, 10)}))
    assert [chaos.fault(SENDER) for _ in range(4)] == [421, 421, None, None]


def test_a_probability_of_0_never_applies_and_one_of_100_always(tmp_path: Path) -> None:
    chaos = ChaosFile(tmp_path)
    chaos.set(Triggers.of({RECIPIENT: Trigger(550, 100)}))
    assert {chaos.fault(RECIPIENT) for _ in range(50)} == {550}
    assert {chaos.fault(AUTHENTICATION) for _ in range(50)} == {None}


def test_a_change_of_another_process_is_in_force_at_once(tmp_path: Path) -> None:
    reader, writer = ChaosFile(tmp_path), ChaosFile(tmp_path)
    for code in (450, 451, 550):
        writer.set(Triggers.of({SENDER: Trigger(code, 100)}))
        assert reader.fault(SENDER) == code


def test_a_start_without_chaos_forgets_the_triggers_of_the_one_before(tmp_path: Path) -> None:
    ChaosFile(tmp_path).set(Triggers.of({SENDER: Trigger(451, 100)}))
    begin(release_choices({"CHAOS": "false"}), tmp_path)
    chaos = ChaosFile(tmp_path)
    assert chaos.fault(SENDER) is None
    begin(release_choices({"CHAOS": "true"}), tmp_path)
    assert chaos.triggers() == Triggers.of({})
    begin(release_choices({}), tmp_path)
    assert chaos.triggers() is None


def test_what_a_request_leaves_out_is_as_in_mailpit() -> None:
    assert triggers_of({"Sender": {"Probability": 5}, "recipient": {"ErrorCode": 550}}) == {
        "Sender": {"ErrorCode": 451, "Probability": 5},
        "Recipient": {"ErrorCode": 550, "Probability": 0},
        "Authentication": {"ErrorCode": 535, "Probability": 0},
    }


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ({"Sender": {"ErrorCode": 399}}, "error code must be between 400 and 599"),
        ({"Sender": {"ErrorCode": 600}}, "error code must be between 400 and 599"),
        ({"Recipient": {"Probability": 101}}, "probability must be between 0 and 100"),
        ({"Recipient": {"Probability": -1}}, "probability must be between 0 and 100"),
        ({"Sender": {"ErrorCode": "451"}}, "whole numbers"),
        ({"Sender": {"Probability": True}}, "whole numbers"),
        ({"Sender": [451, 5]}, "must be an object"),
    ],
)
def test_a_trigger_that_cannot_be_is_refused(document: dict[str, Any], problem: str) -> None:
    with pytest.raises(BadTrigger, match=problem):
        Triggers.from_json(document)


def test_the_setting_may_have_triggers() -> None:
    triggers = read_setting("Sender:421:10, Recipients:550:5,auth:454:100")
    assert triggers is not None
    assert triggers.by_stage == {
        SENDER: Trigger(421, 10),
        RECIPIENT: Trigger(550, 5),
        AUTHENTICATION: Trigger(454, 100),
    }


@pytest.mark.parametrize(
    "text", ["yes", "Sender:451", "Nobody:451:5", "Sender:700:5", "Sender:451:5,"]
)
def test_a_setting_that_cannot_be_used_has_one_line_for_the_user(text: str) -> None:
    with pytest.raises(ValueError, match=r"^CHAOS="):
        read_setting(text)
