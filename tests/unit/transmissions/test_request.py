from __future__ import annotations

import json
from typing import Any

import pytest

from chalicelib.core.settings import settings
from chalicelib.transmissions.request import StoredList, check_list_id, read_request
from tests.unit.refusals import refusal_errors
from tests.unit.transmissions.examples import body, content


def request_errors(data: Any) -> list[dict[str, Any]]:
    status, errors = refusal_errors(read_request, data)
    assert status == 422
    return errors


def codes(data: Any) -> list[str]:
    return [error["code"] for error in request_errors(data)]


def sized(name: str, size: int, filling: str = "x") -> dict[str, Any]:
    """Return data whose JSON has ``size`` bytes."""
    count, rest = divmod(size - len('{"k":""}'), len(filling.encode()))
    return {name: {"k": filling * count + "x" * rest}}


def lines(size: int) -> str:
    """Return a text of ``size`` bytes that a message carries as it is."""
    line = "x" * 98 + "\r\n"
    return "x" * (size % len(line)) + line * (size // len(line))


@pytest.mark.spec("2.1-t1")
@pytest.mark.spec("2.1-t4")
def test_all_fields_of_a_body_are_read() -> None:
    request_body = body(
        options={"open_tracking": False, "click_tracking": True, "initial_open": False}
        | {"transactional": True, "ip_pool": "fast"},
        campaign_id="spring",
        description="Spring sale",
        metadata={"a": [1]},
        substitution_data={"b": None},
    )
    request = read_request(request_body)
    assert request.content is not None
    assert request.content.from_ == "a@mail.example.test"
    assert request.options is not None
    assert request.options.model_dump(exclude_none=True) == request_body["options"]
    assert (request.campaign_id, request.description) == ("spring", "Spring sale")
    assert (request.metadata, request.substitution_data) == ({"a": [1]}, {"b": None})
    assert request.recipients == request_body["recipients"]


@pytest.mark.spec("2.1-t11")
@pytest.mark.spec("2.1-t12")
@pytest.mark.spec("2.1-t13")
@pytest.mark.spec("2.1-t14")
@pytest.mark.spec("2.1-t16")
@pytest.mark.spec("2.1-t18")
@pytest.mark.parametrize(
    "name",
    [
        "open_tracking",
        "click_tracking",
        "initial_open",
        "transactional",
        "inline_css",
        "perform_substitutions",
        "sandbox",
        "skip_suppression",
    ],
)
def test_a_boolean_option_takes_no_other_type(name: str) -> None:
    for value in (True, False, None):
        assert getattr(read_request(body(options={name: value})).options, name) is value
    for wrong in ("true", 1, 0, [], {}):
        assert codes(body(options={name: wrong})) == ["1300"]


@pytest.mark.spec("2.1-t15")
@pytest.mark.spec("2.1-t17")
@pytest.mark.spec("2.1-t19")
@pytest.mark.parametrize("name", ["ip_pool", "dkim_key", "reply_domain", "start_time"])
def test_a_text_option_takes_no_other_type(name: str) -> None:
    assert getattr(read_request(body(options={name: "x"})).options, name) == "x"
    for wrong in (True, 1, [], {}):
        assert codes(body(options={name: wrong})) == ["1300"]


@pytest.mark.spec("2.1-t2")
def test_override_is_read_with_its_from_in_either_form() -> None:
    fields = {"from": {"email": "a@b.test", "name": "Ann"}, "reply_to": "r@b.test", "list_id": "l"}
    override = read_request(body(override=fields)).override
    assert override.model_dump(by_alias=True, exclude_none=True) == fields
    assert read_request(body(override={"from": "a@b.test"})).override.from_ == "a@b.test"


@pytest.mark.spec("2.1-t2")
@pytest.mark.parametrize(
    "data",
    [
        "x",
        [],
        {"from": 7},
        {"reply_to": {"email": "a@b.test"}},
        {"list_id": 7},
        {"list_id": "no list"},
        {"list_id": "x" * 256},
    ],
)
def test_an_override_of_another_form_is_refused(data: Any) -> None:
    assert codes(body(override=data)) == ["1300"]


@pytest.mark.spec("2.1-t3")
def test_recipients_may_be_a_stored_list() -> None:
    assert read_request(body(recipients={"list_id": "friends"})).recipients == StoredList(
        list_id="friends"
    )


@pytest.mark.spec("2.1-t3")
@pytest.mark.parametrize(
    ("data", "code"), [({}, "1400"), ({"list_id": 7}, "1300"), ({"list_id": None}, "1400")]
)
def test_a_stored_list_is_named(data: Any, code: str) -> None:
    assert codes(body(recipients=data)) == [code]


@pytest.mark.parametrize(
    "name",
    [
        "options",
        "override",
        "campaign_id",
        "description",
        "metadata",
        "substitution_data",
        "return_path",
        "tracking_domain",
    ],
)
def test_a_null_option_or_field_counts_as_absent(name: str) -> None:
    assert read_request(body(**{name: None})) == read_request(body())


@pytest.mark.spec("2.1-t9")
@pytest.mark.spec("2.1-t10")
@pytest.mark.parametrize("name", ["return_path", "tracking_domain"])
def test_return_path_and_tracking_domain_are_texts(name: str) -> None:
    assert getattr(read_request(body(**{name: "x"})), name) == "x"
    assert codes(body(**{name: ["x"]})) == ["1300"]


RAW = "From: a@b.test\r\n\r\nHello\r\n"


@pytest.mark.spec("2.1-t4")
@pytest.mark.parametrize(
    "form",
    [
        {"template_id": "t"},
        {"template_id": "t", "use_draft_template": True},
        {"ab_test_id": "t"},
        {"email_rfc822": RAW},
    ],
)
def test_content_has_one_of_four_forms(form: Any) -> None:
    assert dict(read_request(body(content=form)).content).items() >= form.items()


@pytest.mark.parametrize(
    "form",
    [
        {"template_id": "t", "ab_test_id": "t"},
        {"template_id": "t", "email_rfc822": RAW},
        {"ab_test_id": "t", "email_rfc822": RAW},
        {"email_rfc822": RAW, "from": "a@b.test"},
        {"email_rfc822": RAW, "headers": {"X-A": "1"}},
        {"email_rfc822": RAW, "attachments": [{"name": "a", "type": "b", "data": "AAAA"}]},
        *({"template_id": "t", name: "x"} for name in ("subject", "text", "html", "amp_html")),
        *({"ab_test_id": "t", name: "x"} for name in ("subject", "text", "html", "amp_html")),
    ],
)
def test_content_in_two_forms_is_refused(form: Any) -> None:
    assert codes(body(content=form)) == ["1301"]


@pytest.mark.parametrize("form", [{"email_rfc822": RAW}, {"template_id": "t"}])
def test_empty_fields_of_another_form_are_ignored(form: Any) -> None:
    nothing = {"from": None, "subject": None, "html": None, "text": "", "reply_to": None}
    nothing |= {"use_draft_template": False, "attachments": [], "inline_images": [], "headers": {}}
    content = read_request(body(content=nothing | form)).content
    assert dict(content).items() >= form.items()


def test_null_fields_count_as_absent() -> None:
    optional = ("attachments", "inline_images", "headers", "html", "template_id", "email_rfc822")
    request_body = body(content=body()["content"] | dict.fromkeys(optional))
    assert read_request(request_body | {"options": None, "metadata": None}) == read_request(body())


@pytest.mark.parametrize("name", ["template_id", "ab_test_id"])
def test_other_fields_beside_stored_content_are_ignored(name: str) -> None:
    beside = {"from": "no address", "reply_to": "r@b.test", "headers": {"Subject": "x"}}
    files = [{"name": "a", "type": "b", "data": "no base64"}]
    read_request(body(content={name: "t", "attachments": files, **beside}))


@pytest.mark.parametrize("form", ["template_id", "ab_test_id"])
@pytest.mark.parametrize("name", ["from", "reply_to", "headers", "attachments", "inline_images"])
@pytest.mark.parametrize("value", [{}, [], "x", 1, True, {"email": 1}, [{"name": "a"}], [1]])
def test_fields_that_are_ignored_may_have_any_form(form: str, name: str, value: Any) -> None:
    content = read_request(body(content={form: "t", name: value})).content
    assert content == read_request(body(content={form: "t"})).content


@pytest.mark.parametrize("name", ["from", "reply_to", "headers", "attachments", "inline_images"])
@pytest.mark.parametrize("value", ["x", 1, {"email": 1}, [{"name": "a"}], [1]])
def test_a_pre_built_message_excludes_other_fields_in_any_form(name: str, value: Any) -> None:
    assert codes(body(content={"email_rfc822": RAW, name: value})) == ["1301"]


@pytest.mark.parametrize("name", ["text", "html", "amp_html", "subject", "email_rfc822"])
@pytest.mark.parametrize("value", ["x", 1, {"a": 1}, [1]])
def test_stored_content_excludes_content_in_any_form(name: str, value: Any) -> None:
    assert codes(body(content={"template_id": "t", name: value})) == ["1301"]


@pytest.mark.parametrize("form", [{"template_id": "t"}, {"ab_test_id": "t"}])
def test_stored_content_may_not_do_without_substitutions(form: Any) -> None:
    verbatim = {"perform_substitutions": False}
    read_request(body(content=form, options={"perform_substitutions": True}))
    assert codes(body(content=form, options=verbatim)) == ["1301"]


def test_content_in_the_request_may_do_without_substitutions() -> None:
    verbatim = {"perform_substitutions": False}
    assert read_request(body(options=verbatim))
    assert read_request(body(content={"email_rfc822": RAW}, options=verbatim))


@pytest.mark.spec("2.2-t8")
@pytest.mark.spec("2.2-t9")
@pytest.mark.parametrize("name", ["attachments", "inline_images"])
def test_files_have_a_name_a_type_and_data(name: str) -> None:
    file = {"name": "a", "type": "image/png", "data": "AAAA"}
    read_request(content(**{name: [file]}))
    for missing in file:
        (error,) = request_errors(
            content(**{name: [{k: v for k, v in file.items() if k != missing}]})
        )
        assert error["code"] == "1400"
        assert error["description"] == f"content.{name}[0].{missing} is a required field"
        assert codes(content(**{name: [file | {missing: 7}]})) == ["1300"]
    assert codes(content(**{name: {}})) == ["1300"]
    assert codes(content(**{name: [file | {"data": "?"}]})) == ["3010"]


@pytest.mark.spec("1-r5")
def test_unexpected_fields_are_ignored_at_every_level() -> None:
    request_body = content(colour="red") | {"colour": "red", "options": {"colour": "red"}}
    assert read_request(request_body).options is not None


@pytest.mark.parametrize("data", [None, 7, "text", [], [body()], True])
def test_a_body_that_is_no_object_is_refused(data: Any) -> None:
    assert codes(data) == ["1300"]


@pytest.mark.spec("2.1-t3")
@pytest.mark.spec("7-t16")
def test_recipients_are_required() -> None:
    (error,) = request_errors(body(recipients=None))
    assert error["code"] == "1400"
    assert error["description"] == "recipients or list_id required"


@pytest.mark.spec("7-t16")
def test_content_is_required() -> None:
    (error,) = request_errors(body(content=None))
    assert error["code"] == "1400"
    assert error["description"] == "content object or template_id required"


@pytest.mark.spec("2.2-t1")
@pytest.mark.spec("2.2-t2")
@pytest.mark.parametrize(
    ("data", "text"),
    [
        (content(**{"from": None}), "content.from is a required field"),
        (content(**{"from": {"name": "Ann"}}), "content.from.email is a required field"),
        (content(subject=None), "content.subject"),
        (content(subject=""), "content.subject"),
    ],
)
def test_from_and_subject_are_required(data: Any, text: str) -> None:
    (error,) = request_errors(data)
    assert error["code"] == "1400"
    assert text in error["description"]


@pytest.mark.spec("2.2-t4")
@pytest.mark.spec("2.2-t3")
@pytest.mark.parametrize(
    "fields",
    [
        {"text": None},
        {"text": ""},
        {"text": "", "html": ""},
        {"text": None, "amp_html": "<html amp4email></html>"},
    ],
)
def test_at_least_one_of_html_and_text_is_required(fields: dict[str, Any]) -> None:
    (error,) = request_errors(content(**fields))
    assert error["code"] == "1400"
    assert "At least one of 'text' or 'html'" in error["description"]


@pytest.mark.spec("2.2-t5")
def test_amp_html_goes_with_html_or_text() -> None:
    request = read_request(content(amp_html="<html amp4email></html>"))
    assert request.content is not None
    assert request.content.amp_html


@pytest.mark.spec("2.2-t1")
@pytest.mark.parametrize(
    "sender",
    ["a@b.test", "Ann <a@b.test>", {"email": "a@b.test"}, {"email": "a@b.test", "name": ""}],
)
def test_from_is_a_string_or_an_object(sender: Any) -> None:
    assert read_request(content(**{"from": sender})).content is not None


@pytest.mark.parametrize(
    "data",
    [
        content(**{"from": 7}),
        content(**{"from": ["a@b.c"]}),
        content(subject=7),
        content(text=["x"]),
        content(html={}),
        content(headers=[]),
        content(headers={"X-A": 1}),
        content(reply_to={"email": "a@b.c"}),
        body(content="hi"),
        body(recipients="r@example.test"),
        body(options=[]),
        body(options={"open_tracking": "true"}),
        body(options={"click_tracking": 1}),
        body(options={"ip_pool": 1}),
        body(campaign_id=7),
        body(description=[]),
        body(metadata="x"),
        body(metadata=[]),
        body(substitution_data=1),
    ],
)
def test_a_field_of_another_type_is_refused(data: Any) -> None:
    assert codes(data) == ["1300"]


@pytest.mark.parametrize("reply_to", ["nobody", "a@b.test, c", "a@b.test\r\nBcc: c@d.test", "A <>"])
def test_a_reply_to_that_is_no_address_is_refused(reply_to: str) -> None:
    for path, data in (
        ("content.reply_to", content(reply_to=reply_to)),
        ("override.reply_to", body(override={"reply_to": reply_to})),
    ):
        (error,) = request_errors(data)
        assert error["code"] == "1300"
        assert path in error["description"] or "Reply-To header" in error["description"]


@pytest.mark.parametrize("reply_to", ["a@b.test, C <c@d.test>", "{{n}}", "", "Doe, Ann <a@b.test>"])
def test_a_reply_to_is_a_list_or_a_template(reply_to: str) -> None:
    assert read_request(content(reply_to=reply_to)).content.reply_to == reply_to


def test_a_header_that_no_message_can_hold_is_refused() -> None:
    for value in ("a\r\nBcc: b@c.test", "<https://a.test/" + "x" * 1000 + ">"):
        assert codes(content(headers={"List-Unsubscribe": value})) == ["1300"]
        assert read_request(content(headers={"List-Unsubscribe": "{{n}}" + value}))


@pytest.mark.spec("8-t5")
@pytest.mark.spec("2.1-t5")
@pytest.mark.spec("2.1-t6")
@pytest.mark.parametrize(("name", "most"), [("campaign_id", 64), ("description", 1024)])
def test_texts_are_limited_in_bytes(name: str, most: int) -> None:
    read_request(body(**{name: "x" * most}))
    read_request(body(**{name: "é" * (most // 2)}))
    assert codes(body(**{name: "x" * (most + 1)})) == ["1300"]
    assert codes(body(**{name: "é" * (most // 2 + 1)})) == ["1300"]


@pytest.mark.spec("8-t5")
@pytest.mark.spec("2.1-t7")
@pytest.mark.spec("2.1-t8")
@pytest.mark.parametrize("filling", ["x", "é", "漢"])
@pytest.mark.parametrize(
    ("name", "most", "code"), [("metadata", 10_240, "2007"), ("substitution_data", 100_000, "2002")]
)
def test_data_is_limited_by_the_bytes_of_its_json(
    name: str, most: int, code: str, filling: str
) -> None:
    fields = sized(name, most, filling)
    assert len(json.dumps(fields[name], ensure_ascii=False, separators=(",", ":")).encode()) == most
    read_request(body(**fields))
    assert codes(body(**sized(name, most + 1, filling))) == [code]


@pytest.mark.spec("2.2-t7")
@pytest.mark.parametrize(
    "name",
    [
        *("Subject", "From", "To", "Reply-To", "Content-Type", "Content-Transfer-Encoding"),
        *("sUBJECT", "MIME-Version", "mime-VERSION", "Bcc", "bCC", "Return-Path", "Resent-Bcc"),
    ],
)
def test_headers_that_no_sender_writes_are_not_allowed(name: str) -> None:
    assert codes(content(headers={name: "x"})) == ["3002"]


def test_a_second_date_is_not_allowed() -> None:
    assert codes(content(headers={"Date": "x", "X-A": "y", "DATE": "x"})) == ["3002"]


@pytest.mark.parametrize("name", ["", "X A", "X:", "X\r\nBcc", "é", "X\x7f", "\ud800"])
def test_a_header_name_with_invalid_characters_is_refused(name: str) -> None:
    assert codes(content(headers={name: "x"})) == ["3002"]


def test_other_headers_are_accepted() -> None:
    headers = {"X-Any!#$%&'*+.^_`|~": "é {{name}}", "CC": "c@example.test"}
    request = read_request(content(headers=headers))
    assert request.content is not None
    assert request.content.headers == headers


@pytest.mark.parametrize("name", ["text", "html", "amp_html"])
@pytest.mark.parametrize("substitutes", [True, False])
def test_a_text_may_fill_a_message(name: str, substitutes: bool) -> None:
    options = {"options": {"perform_substitutions": substitutes}}
    most = settings().max_message_bytes - len("Hi") - len("Hello") * (name != "text")
    assert read_request(content(**{name: lines(most)}) | options)
    (error,) = request_errors(content(**{name: lines(most + 1)}) | options)
    assert error["code"] == "1300"
    length = settings().max_message_bytes + 1
    assert f"'content' has length '{length}'" in error["description"]


@pytest.mark.parametrize("name", ["text", "html", "amp_html"])
@pytest.mark.parametrize("text", ["x\n", "é", "=" * 1000])
def test_a_text_counts_as_it_is_encoded(name: str, text: str) -> None:
    most = settings().max_message_bytes
    fitting = text * (most // 4 // len(text.encode()))
    assert read_request(content(**{name: fitting}))
    assert codes(content(**{name: 4 * fitting[: -len(text)]})) == ["1300"]


def test_a_text_with_a_tag_counts_as_it_came_because_data_may_shrink_it() -> None:
    text = "\n" * (settings().max_message_bytes - 100) + "{{x}}"
    assert read_request(content(text=text))
    verbatim = {"options": {"perform_substitutions": False}}
    assert codes(content(text=text) | verbatim) == ["1300"]
    assert codes(content(text=text.replace("{{x}}", ""))) == ["1300"]


@pytest.mark.parametrize("kind", ["attachments", "inline_images"])
def test_an_error_names_the_path_of_a_file_name(kind: str) -> None:
    file = {"name": "f", "type": "image/png", "data": ""}
    (error,) = request_errors(content(**{kind: [file, file | {"name": "x" * 256}]}))
    assert f"content.{kind}[1].name" in error["description"]


@pytest.mark.parametrize("kind", ["attachments", "inline_images"])
def test_a_file_counts_with_the_line_ends_of_base64(kind: str) -> None:
    lines_of_base64 = settings().max_message_bytes // 78
    file = {"name": "f", "type": "image/png"}
    fitting = "A" * 76 * (lines_of_base64 - 10)
    assert read_request(content(**{kind: [file | {"data": fitting}]}))
    assert codes(content(**{kind: [file | {"data": fitting + "A" * 760}]})) == ["1300"]


def test_content_together_is_no_larger_than_a_message() -> None:
    quarter = settings().max_message_bytes // 4
    file = {"name": "f", "type": "image/png", "data": "A" * quarter}
    parts = {
        "text": lines(quarter),
        "headers": {"X-A": "x" * quarter},
        "attachments": [file],
        "inline_images": [file],
    }
    for name in parts:
        assert read_request(content(**{each: parts[each] for each in parts if each != name}))
    assert codes(content(**parts)) == ["1300"]


def test_a_pre_built_message_is_no_larger_than_a_message() -> None:
    most = settings().max_message_bytes
    assert read_request(body(content={"email_rfc822": "x" * most}))
    assert codes(body(content={"email_rfc822": "x" * (most + 1)})) == ["1300"]


def test_a_pre_built_message_counts_with_the_line_ends_that_it_gets() -> None:
    most = settings().max_message_bytes
    assert read_request(body(content={"email_rfc822": "\n" * (most // 2)}))
    assert codes(body(content={"email_rfc822": "\n" * (most // 2 + 1)})) == ["1300"]
    assert read_request(body(content={"email_rfc822": "\n" * (most // 2) + "{{x}}"}))


@pytest.mark.spec("2.9-t5")
@pytest.mark.parametrize("list_id", ["a", "news", "news.example", "a-b_c.1.2", "x" * 255])
def test_a_list_id_is_accepted(list_id: str) -> None:
    check_list_id(list_id)


@pytest.mark.spec("2.9-t5")
@pytest.mark.parametrize(
    "list_id",
    ["", ".a", "a.", "a..b", "a b", "<a>", "é", "a\r\nBcc: x", "a\n", "a,b", "x" * 256],
)
def test_text_that_is_no_list_id_is_refused(list_id: str) -> None:
    status, errors = refusal_errors(check_list_id, list_id)
    assert (status, errors[0]["code"]) == (422, "1300")
    assert "override.list_id" in errors[0]["description"]
