from __future__ import annotations

from typing import Any

import pytest

from chalicelib.core.errors import ServiceError
from chalicelib.templates.content import (
    CONTENT_BYTES,
    StorableContent,
    check_header_names,
    read_content,
    read_preview_content,
)
from tests.unit.refusals import refusal_errors
from tests.unit.templates.api import CONTENT

RAW = "From: a@example.test\nSubject: Hi {{name}}\n\nHello {{name}}\n"


def read(**changes: Any) -> dict[str, Any]:
    content = {name: value for name, value in (CONTENT | changes).items() if value is not ...}
    return read_content(StorableContent.parse(content))


def content_errors(**changes: Any) -> list[dict[str, Any]]:
    status, errors = refusal_errors(read, **changes)
    assert status == 422
    return errors


def codes(**changes: Any) -> list[str]:
    return [error["code"] for error in content_errors(**changes)]


@pytest.mark.spec("2.3-t4")
def test_content_keeps_its_known_keys_and_ignores_unknown_ones() -> None:
    content = {
        "from": "News <news@example.test>",
        "subject": "s",
        "reply_to": "r@example.test",
        "text": "t",
        "html": "h",
        "amp_html": "a",
        "headers": {"X-Campaign": "c", "List-Id": "<l.example.test>"},
    }
    assert read_content(StorableContent.parse(content | {"colour": "blue"})) == content


@pytest.mark.parametrize(
    "changes",
    [
        {"from": ...},
        {"from": ""},
        {"from": {"email": ""}},
        {"from": {"name": "n"}},
        {"subject": ...},
        {"subject": ""},
        {"text": ..., "html": ...},
        {"text": "", "html": "", "amp_html": "<html amp4email></html>"},
    ],
)
def test_the_parts_that_every_message_needs_are_required(changes: dict[str, Any]) -> None:
    assert codes(**changes) == ["1400"]


@pytest.mark.parametrize(
    "changes", [{"text": 1}, {"from": 1}, {"headers": []}, {"headers": {"X-A": 1}}, {"html": {}}]
)
def test_a_part_of_another_type_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ServiceError) as error:
        StorableContent.parse(CONTENT | changes)
    assert [each["code"] for each in error.value.errors] == ["1300"]


@pytest.mark.spec("2.3-t4")
@pytest.mark.parametrize("name", ["attachments", "inline_images"])
def test_attachments_are_not_allowed(name: str) -> None:
    assert codes(**{name: [{"name": "a", "type": "text/plain", "data": "YQ=="}]}) == ["1301"]
    assert read(**{name: []}) == CONTENT


@pytest.mark.spec("2.3-t4")
@pytest.mark.spec("8-t7")
def test_content_has_at_most_5_mb() -> None:
    room = CONTENT_BYTES - len('{"from": "a@b.test", "subject": "s", "text": ""}')
    small = {"from": "a@b.test", "subject": "s"}
    assert read_content(StorableContent.parse(small | {"text": "x" * room}))
    with pytest.raises(ServiceError) as error:
        read_content(StorableContent.parse(small | {"text": "x" * (room + 1)}))
    assert error.value.errors[0]["code"] == "1300"
    assert CONTENT_BYTES == 5 * 1024 * 1024


def test_the_substitutions_of_all_parts_together_are_limited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("chalicelib.templates.content.MOST_TAGS", 7)
    parts = {"subject": "{{a}}", "html": "{{a}}" * 2, "text": "{{{a}}}" * 2}
    headers = {"X-A": "{{a}}", "X-B": "{{a}}"}
    assert read(**parts, headers=headers)["headers"] == headers
    assert codes(**parts, headers=headers | {"X-C": "{{a}}"}) == ["1300"]


@pytest.mark.parametrize(
    "name",
    [
        *("Subject", "from", "TO", "reply-to", "Content-Type", "content-transfer-encoding"),
        *("MIME-Version", "mime-version", "Bcc", "BCC", "Return-Path", "resent-bcc"),
        *("", "X A", "X:A", "X-Ä", "X-A\r\nBcc", "X\0", "X" * 256),
    ],
)
def test_a_header_that_may_not_be_set_is_refused(name: str) -> None:
    assert codes(headers={name: "v"}) == ["3002"]
    with pytest.raises(ServiceError):
        check_header_names([name])


@pytest.mark.parametrize("name", ["Date", "Message-ID", "CC", "Sender", "In-Reply-To"])
def test_a_header_that_a_message_has_once_may_not_be_set_twice(name: str) -> None:
    (error,) = content_errors(headers={name: "v", "X-A": "v", name.lower(): "v"})
    assert error["code"] == "3002"
    assert f"'{name.lower()}' may occur only once" in error["description"]


def test_other_headers_may_be_set_more_than_once() -> None:
    headers = {"Comments": "a", "comments": "b", "X-A": "a", "x-a": "b", "Date": "c"}
    assert read(headers=headers)["headers"] == headers


@pytest.mark.parametrize("value", ["", "  "])
def test_a_header_without_content_is_refused(value: str) -> None:
    assert codes(headers={"X-A": value}) == ["3002"]


@pytest.mark.parametrize(
    "changes",
    [
        {"subject": "Hi\r\nBcc: all@example.test"},
        {"from": "a@example.test\nX: y"},
        {"reply_to": "a@example.test\r"},
        {"reply_to": "nobody"},
        {"reply_to": "a@example.test, b"},
        {"headers": {"X-A": "a\nb"}},
        {"headers": {"References": "<" + "x" * 1000 + ">"}},
    ],
)
def test_a_header_that_could_never_be_sent_is_refused(changes: dict[str, Any]) -> None:
    assert codes(**changes) == ["1300"]


@pytest.mark.spec("7-t24")
@pytest.mark.spec("2.3-t4")
def test_every_part_with_a_syntax_error_is_named_with_its_line() -> None:
    errors = content_errors(
        subject="{{if}}",
        text="one\ntwo\n{{if a b}}x{{end}}",
        html="{{ n",
        amp_html="<p>\n{{end}}",
        headers={"X-Good": "{{n}}", "X-Bad": "{{end}}"},
        **{"from": {"email": "a@example.test", "name": "{{"}},
    )
    places = {(error["part"], error["line"]) for error in errors}
    assert places == {
        ("Header:From", 1),
        ("Header:Subject", 1),
        ("text", 3),
        ("html", 1),
        ("amp_html", 2),
        ("Header:X-Bad", 1),
    }
    for error in errors:
        assert error["code"] == "3000"
        assert error["message"] == "substitution language syntax error in template content"
    (text,) = [error for error in errors if error["part"] == "text"]
    assert text["description"] == "Error while compiling part text: line 3: syntax error near 'b'"


# --- email_rfc822


def test_a_pre_built_message_may_stand_alone() -> None:
    content = {"email_rfc822": RAW}
    assert read_content(StorableContent.parse(content)) == content


@pytest.mark.spec("2.3-t4")
def test_a_pre_built_message_excludes_all_other_keys() -> None:
    assert codes(email_rfc822=RAW) == ["1301"]


@pytest.mark.parametrize(
    ("raw", "description"),
    [
        ("no header at all", "malformed header line"),
        ("Subject: s\n\nHello\n.\nQUIT\n", "end-of-data"),
        ("Date: x\nSubject: s\ndate: y\n\nx", "header date may occur only once"),
        ("Content-Type: multipart/mixed\n\nx", "boundary"),
        ("Content-Type: text/x-amp-html\n\nx", "multipart/alternative"),
        ("Content-Transfer-Encoding: base64\n\nabcde", "cannot be decoded"),
        ("Content-Transfer-Encoding: base64\n\n$$$", "cannot be decoded"),
        (
            "Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: image/png\n"
            "Content-Transfer-Encoding: base64\n\n$$$\n--b--\n",
            "image/png part cannot be decoded",
        ),
        ("Content-Transfer-Encoding: rot13\n\nx", "rot13"),
        ("Content-Type: text/plain; charset=klingon\n\nx", "cannot be decoded"),
        ("Content-Type: text/plain; charset=punycode\n\nx", "cannot be decoded"),
        ("Content-Type: text/plain; charset=hex\n\nx", "cannot be decoded"),
    ],
)
def test_a_pre_built_message_that_may_not_be_sent_is_refused(raw: str, description: str) -> None:
    with pytest.raises(ServiceError) as error:
        read_content(StorableContent.parse({"email_rfc822": raw}))
    (refusal,) = error.value.errors
    assert refusal["code"] == "3020"
    assert refusal["description"].startswith("Error in content.email_rfc822: ")
    assert description in refusal["description"]


@pytest.mark.spec("7-t24")
def test_syntax_errors_of_a_pre_built_message_are_reported_by_part() -> None:
    raw = "Subject: {{if}}{{end}}\nContent-Type: text/html\n\n<p>\n{{end}}\n{{ ? }}\n"
    with pytest.raises(ServiceError) as error:
        read_content(StorableContent.parse({"email_rfc822": raw}))
    places = [(each["code"], each["part"], each["line"]) for each in error.value.errors]
    assert places == [("3000", "Header:Subject", 1), ("3000", "html", 2), ("3000", "html", 3)]


# --- previews


def test_content_to_preview_may_lack_any_part() -> None:
    for content in ({}, {"html": "x"}, {"subject": ""}, {"headers": {"X-A": "b"}}):
        assert read_preview_content(StorableContent.parse(content)) == content


def test_content_to_preview_follows_all_other_rules() -> None:
    for content in (
        {"html": "{{end}}"},
        {"headers": {"To": "x"}},
        {"email_rfc822": "x", "text": ""},
    ):
        with pytest.raises(ServiceError):
            read_preview_content(StorableContent.parse(content))
