"""A message that is described as JSON becomes a message, or a refusal in Mailpit's words."""

from __future__ import annotations

import base64
import json
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infrastructure.local.mailpit.sending import BadMessage, build

PNG = b"\x89PNG\r\n\x1a\nx"
SMALL = {"From": {"Email": "ann@a.test"}, "To": [{"Email": "bob@b.test"}]}


def built(**fields: Any) -> EmailMessage:
    message = message_from_bytes(build({**SMALL, **fields}).content, policy=default)
    assert isinstance(message, EmailMessage)
    return message


def test_every_field_has_its_place() -> None:
    document = {
        "From": {"Name": "Änn", "Email": "ann@a.test"},
        "To": [{"Name": "Bob", "Email": "bob@b.test"}, {"Email": "cy@c.test"}],
        "Cc": [{"Email": "dan@d.test"}],
        "Bcc": ["eve@e.test"],
        "ReplyTo": [{"Name": "Replies", "Email": "re@a.test"}],
        "Subject": "Grüße",
        "Text": "Hello, 7 €",
        "HTML": '<p>Hello</p><img src="cid:logo">',
        "Tags": ["one", "two words"],
        "Headers": {"X-Custom": "some value"},
        "Attachments": [
            {"Filename": "a.txt", "Content": base64.b64encode(b"attached").decode()},
            {
                "Filename": "logo.png",
                "Content": "data:image/png;base64," + base64.b64encode(PNG).decode(),
                "ContentID": "logo",
            },
        ],
    }
    sent_message = build(document)
    assert sent_message.sender == "ann@a.test"
    assert sent_message.recipients == ("bob@b.test", "cy@c.test", "dan@d.test", "eve@e.test")
    message = message_from_bytes(sent_message.content, policy=default)
    assert isinstance(message, EmailMessage)
    assert sent_message.content.isascii()
    assert str(message["From"]) == "Änn <ann@a.test>"
    assert str(message["To"]) == "Bob <bob@b.test>, cy@c.test"
    assert str(message["Cc"]) == "dan@d.test"
    assert message["Bcc"] is None
    assert str(message["Reply-To"]) == "Replies <re@a.test>"
    assert message["Subject"] == "Grüße"
    assert message["X-Tags"] == "one, two words"
    assert message["X-Custom"] == "some value"
    assert message["Date"]
    assert str(message["Message-ID"]).endswith("@a.test>")
    text = message.get_body(("plain",))
    assert text is not None
    assert text.get_content().strip() == "Hello, 7 €"
    parts = {part.get_filename(): part for part in message.walk() if part.get_filename()}
    assert parts["a.txt"].get_content() == "attached"
    assert parts["a.txt"].get_content_disposition() == "attachment"
    assert parts["logo.png"]["Content-ID"] == "<logo>"
    assert parts["logo.png"].get_content_type() == "image/png"
    assert parts["logo.png"].get_content() == PNG
    assert b"\r\n" in sent_message.content
    assert b"\n" not in sent_message.content.replace(b"\r\n", b"")


def test_html_alone_is_the_message() -> None:
    message = built(HTML="<p>x</p>")
    assert message.get_content_type() == "text/html"


def test_names_are_taken_in_any_case() -> None:
    document = {"FROM": {"email": "ann@a.test"}, "to": [{"EMAIL": "bob@b.test"}], "subject": "x"}
    assert b"Subject: x" in build(document).content


def test_a_message_id_of_the_caller_stays() -> None:
    assert built(Headers={"Message-ID": "<1@a.test>"})["Message-ID"] == "<1@a.test>"


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"From": None}, "error building message: from not set"),
        ({"From": {"Email": "nobody"}}, "invalid From address: nobody"),
        ({"To": []}, "error building message: no recipients (to, cc, bcc) set"),
        ({"To": [{"Email": "nobody"}]}, "invalid To address: nobody"),
        ({"Cc": [{"Email": ""}]}, "invalid Cc address: "),
        ({"Bcc": ["nobody"]}, "invalid Bcc address: nobody"),
        ({"ReplyTo": [{"Email": "@"}]}, "invalid Reply-To address: @"),
        ({"Headers": {"Subject": "x"}}, 'cannot overwrite header: "Subject"'),
        ({"Headers": {"mime-version": "x"}}, 'cannot overwrite header: "mime-version"'),
        ({"Tags": ["a"], "Headers": {"X-Tags": "x"}}, 'cannot overwrite header: "X-Tags"'),
        ({"Headers": {"X Y": "x"}}, 'invalid header: "X Y"'),
        ({"Attachments": [{"Filename": "a", "Content": "*"}]}, "error decoding base64 attachment"),
        ({"To": "bob@b.test"}, "To must be a list"),
        ({"Text": 7}, "Text must be a text"),
        ({"Tags": [7]}, "Tags must be a text"),
    ],
)  # fmt: skip
def test_what_cannot_be_a_message_is_refused(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(BadMessage) as error:
        build({**SMALL, **fields})
    assert str(error.value).startswith(problem)


def test_no_value_can_begin_another_header() -> None:
    message = built(
        Subject="x\r\nBcc: evil@e.test",
        Headers={"X-A": "x\nX-B: y"},
        To=[{"Name": 'Bob"\r\nX-C: z', "Email": "bob@b.test"}],
    )
    assert [message["Bcc"], message["X-B"], message["X-C"]] == [None, None, None]


NAMES = st.sampled_from(["Email", "Name", "Content", "ContentID"])
VALUES = st.recursive(
    st.none() | st.text(max_size=20) | st.integers(-5, 5) | st.just("a@b.test"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["Email", "Name", "Content", "ContentID"]), inner, max_size=3
        )
    ),
    max_leaves=6,
)
KEYS = ["From", "To", "Cc", "Bcc", "ReplyTo", "Subject", "Text", "HTML", "Tags", "Headers"]


@settings(max_examples=30)
@given(st.dictionaries(st.sampled_from([*KEYS, "Attachments"]), VALUES))
def test_any_json_is_a_message_or_a_refusal(document: dict[str, Any]) -> None:
    document = json.loads(json.dumps(document))
    try:
        message = build({**SMALL, **document})
    except BadMessage:
        return
    assert message_from_bytes(message.content).defects == []
