from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chalicelib.core.errors import ServiceError
from chalicelib.core.settings import settings
from chalicelib.recipient_lists import recipients
from chalicelib.recipient_lists.recipients import (
    Refusals,
    check_recipients,
    good_recipients,
    read_recipient,
    request_form,
)
from tests.unit.refusals import refusal

ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["address", "email", "name", "header_to", "tags", "metadata"]), inner
        )
    ),
    max_leaves=8,
)


#: The same, with the fields of recipients and values that keep most of the rules
NEARLY_GOOD: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {
        "address": st.sampled_from(["a@b.test", " a@b.test", "a@b", "", None, 7, ["a@b.test"]])
        | st.fixed_dictionaries(
            {},
            optional={
                "email": st.sampled_from(["a@b.test", "ü@b.test", "a@b.test\t", "", None, 7]),
                "name": st.sampled_from(["Ann", "Ünn\u00a0", "", "\x00", None, 7]),
                "header_to": st.sampled_from(
                    ["Ann", "a\nb", None, [], "", "c@d.test", " A <c@d.test>, e@f.test\t"]
                ),
            },
        )
    },
    optional={
        "tags": st.sampled_from([[], ["t"], ["t"] * 11, ["t", 1], [True], "t", {}, None]),
        "metadata": st.sampled_from([{}, {"k": [1]}, {"k": "x" * 10_240}, [], "x", None]),
        "substitution_data": st.sampled_from([{}, {"k": 1.5}, {"k": "x" * 100_000}, 7, None]),
        "options": st.sampled_from([{}, {"open_tracking": True}, {"open_tracking": 1}, [], None]),
        "return_path": st.sampled_from(["a@b.test", "", 7, None]),
        "colour": st.just("red"),
    },
)


def read(recipient: Any) -> Any:
    return json.loads(read_recipient(recipient))


def refused_code(recipient: Any) -> str:
    (error,) = refusal(read_recipient, recipient).errors
    return str(error["code"])


def code_of(recipient: Any) -> str:
    """Return the code with which a recipient is refused; empty for a good one."""
    try:
        return "" if isinstance(read(recipient)["email"], str) else "no email"
    except ServiceError as refusal:
        return str(refusal.errors[0]["code"])


@pytest.mark.spec("2.1-t20")
@pytest.mark.parametrize(
    ("address", "record"),
    [
        ("a@b.test", {"email": "a@b.test"}),
        (" a@b.test ", {"email": "a@b.test"}),
        ({"email": "a@b.test"}, {"email": "a@b.test"}),
        ({"email": "A@B.test", "name": "Ann"}, {"email": "A@B.test", "name": "Ann"}),
        (
            {"email": "a@b.test", "name": None, "header_to": "c@d.test", "x": 1},
            {"email": "a@b.test", "header_to": "c@d.test"},
        ),
        *(
            ({"email": "a@b.test", "name": "Ann", "header_to": visible},) * 2
            for visible in ("", " <c@d.test>", "C <c@d.test>", 'c@d.test, "E, F" <e@f.test>')
        ),
    ],
)
def test_an_address_is_a_string_or_an_object(address: Any, record: dict[str, str]) -> None:
    assert read({"address": address}) == record


@pytest.mark.spec("2.1-t22")
@pytest.mark.spec("2.1-t23")
@pytest.mark.spec("2.1-t21")
def test_a_recipient_may_carry_tags_metadata_and_substitution_data() -> None:
    own = {"tags": ["a", "b"], "metadata": {"n": 1}, "substitution_data": {"x": [None]}}
    assert read({"address": "a@b.test"} | own) == {"email": "a@b.test"} | own


def test_absent_and_null_fields_are_not_stored() -> None:
    given_nulls = {"address": "a@b.test", "tags": None, "metadata": None, "colour": "red"}
    assert read(given_nulls) == {"email": "a@b.test"}


def test_surplus_tags_are_dropped() -> None:
    tags = [str(number) for number in range(12)]
    assert read({"address": "a@b.test", "tags": tags})["tags"] == tags[:10]


@pytest.mark.spec("7-t16")
@pytest.mark.parametrize(
    "recipient",
    [
        {},
        {"address": None},
        {"address": {}},
        {"address": ""},
        {"address": {"email": ""}},
        {"address": {"email": None}},
        {"address": 7},
        {"address": ["a@b.test"]},
    ],
)
def test_a_recipient_without_an_email_lacks_a_required_field(recipient: Any) -> None:
    assert refused_code(recipient) == "1400"


@pytest.mark.parametrize(
    "recipient",
    [
        None,
        7,
        "a@b.test",
        [],
        {"address": "nobody"},
        {"address": {"email": "a@b"}},
        {"address": {"email": ["a@b.test"]}},
        {"address": {"email": "a@b.test", "name": 7}},
        {"address": {"email": "a@b.test", "header_to": {}}},
        {"address": {"email": "a@b.test", "name": "Ann\r\nBcc: x@y.test"}},
        {"address": {"email": "a@b.test", "header_to": "x@y.test\nBcc: z@y.test"}},
        {"address": {"email": "a@b.test", "name": "\x00"}},
        {"address": {"email": "a@b.test", "header_to": "undisclosed"}},
        {"address": {"email": "a@b.test", "header_to": " "}},
        {"address": {"email": "a@b.test", "header_to": "x@y.test, z"}},
        {"address": {"email": "a@b.test", "name": "Ann", "header_to": "Ben <b@y>"}},
        {"address": "a@b.test", "tags": "a"},
        {"address": "a@b.test", "tags": ["a", 1]},
        {"address": "a@b.test", "metadata": []},
        {"address": "a@b.test", "substitution_data": "x"},
    ],
)
def test_a_recipient_with_a_field_of_another_form_is_refused(recipient: Any) -> None:
    assert refused_code(recipient) == "1300"


@pytest.mark.spec("2.1-t7")
@pytest.mark.spec("2.1-t8")
def test_the_limits_of_data_hold_for_each_recipient() -> None:
    good = {"address": "a@b.test"}
    assert refused_code(good | {"metadata": {"k": "x" * 10_240}}) == "2007"
    assert refused_code(good | {"substitution_data": {"k": "x" * 100_000}}) == "2002"


@given(ANYTHING)
def test_reading_a_recipient_raises_no_other_errors(anything: Any) -> None:
    for recipient in (anything, {"address": anything}, {"address": "a@b.c", "tags": anything}):
        assert code_of(recipient) in {"", "1300", "1400"}


@given(NEARLY_GOOD)
def test_a_recipient_is_read_at_once_as_it_is_read_field_by_field(recipient: Any) -> None:
    def outcome() -> tuple[bytes, Any]:
        try:
            return read_recipient(recipient), None
        except ServiceError as error:
            return b"", error.errors

    at_once = outcome()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recipients, "_read_common", lambda _: None)
        assert outcome() == at_once


def test_reading_at_once_takes_most_good_recipients(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipients, "_read_any", lambda _: 1 / 0)
    data = {"metadata": {"k": 1}, "substitution_data": {"n": [1.5]}, "tags": ["t"], "colour": 1}
    assert read({"address": "a@b.test"}) == {"email": "a@b.test"}
    assert read({"address": {"email": "a@b.test", "name": "Ann"}} | data)["name"] == "Ann"


@pytest.mark.parametrize(("field", "most"), [("metadata", 10_240), ("substitution_data", 100_000)])
def test_the_limits_of_data_are_exact(field: str, most: int) -> None:
    data = {"n": [0.00001, 1.0, -7, 1.5e-7] * 20, "t": 'é"\\\n\u2028\x7f', "x": ""}
    size = len(json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode())
    data["x"] = "x" * (most - size)
    assert code_of({"address": "a@b.test", field: data}) == ""
    data["x"] += "x"
    assert code_of({"address": "a@b.test", field: data}) != ""


def test_a_bad_recipient_stops_only_itself() -> None:
    good, bad = {"address": "a@b.test"}, {"address": "nobody"}
    sorted_recipients = check_recipients([bad, good, {}, good])
    assert [json.loads(each)["email"] for each in sorted_recipients.accepted] == ["a@b.test"] * 2
    assert [error["code"] for error in sorted_recipients.refusals.errors] == ["1300", "1400"]
    assert sorted_recipients.refusals.count == 2
    for error in sorted_recipients.refusals.errors:
        assert set(error) == {"message", "description", "code"}


@pytest.mark.parametrize("given_list", [[], [{}], [{"address": "nobody"}] * 3])
def test_a_request_without_a_good_recipient_is_refused(given_list: list[Any]) -> None:
    with pytest.raises(ServiceError) as refusal:
        check_recipients(given_list)
    assert (refusal.value.status, refusal.value.errors[0]["code"]) == (400, "5002")


def test_the_refusal_says_what_is_wrong_with_the_recipients() -> None:
    with pytest.raises(ServiceError, match="'nobody' is not a valid email address"):
        check_recipients([{}, {"address": "nobody"}])
    with pytest.raises(ServiceError, match="recipients is empty"):
        check_recipients([])


def test_errors_show_only_the_beginning_of_a_long_address() -> None:
    sorted_recipients = check_recipients([{"address": "a@b.test"}, {"address": "x" * 100_000}])
    assert len(sorted_recipients.refusals.errors[0]["description"]) < 400


@pytest.mark.spec("2.1-t25")
def test_a_recipient_may_carry_a_return_path_that_is_an_address() -> None:
    given_path = {"address": "a@b.test", "return_path": "bounce@b.test"}
    assert read(given_path) == {"email": "a@b.test", "return_path": "bounce@b.test"}
    for bad in ("nobody", "", 7, {}, "a@b.test\r\nx"):
        assert refused_code({"address": "a@b.test", "return_path": bad}) == "1300"


def test_a_recipient_is_shown_in_the_form_of_requests() -> None:
    given_whole = {
        "address": {"email": "a@b.test", "name": "Ann", "header_to": "c@d.test"},
        "tags": ["x"],
        "metadata": {"k": 1},
        "substitution_data": {"s": 1},
        "return_path": "bounce@b.test",
    }
    assert request_form(read(given_whole)) == given_whole
    assert request_form(read({"address": "a@b.test"})) == {"address": {"email": "a@b.test"}}


def test_good_recipients_come_one_by_one_and_few_errors_are_kept() -> None:
    refusals = Refusals(most=2)
    places: list[Any] = []

    def offered() -> Any:
        for number in range(5):
            places.append(number)
            yield {"address": "a@b.test"} if number == 3 else {}

    good = good_recipients(offered(), refusals)
    assert next(good) == b'{"email":"a@b.test"}'
    assert places == [0, 1, 2, 3]
    assert list(good) == []
    assert (refusals.count, len(refusals.errors)) == (4, 2)


def test_no_more_errors_are_shown_than_a_reply_has_room_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bad = [{"address": 'é"' * 100 + str(number)} for number in range(40)]
    refusals = check_recipients([{"address": "a@b.test"}, *bad]).refusals
    assert refusals.first(1_000_000) == refusals.errors
    assert refusals.first(3) == refusals.errors[:3]
    monkeypatch.setenv("MAX_REPLY_BYTES", "20000")
    settings.cache_clear()
    view = refusals.first(1_000_000)
    assert 10 < len(view) < 40
    assert view == refusals.errors[: len(view)]
    assert len(json.dumps(json.dumps(view))) <= 20_002
