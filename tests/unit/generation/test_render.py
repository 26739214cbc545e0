from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from chalicelib.core.addresses import Mailbox
from chalicelib.generation.faults import RenderFault
from chalicelib.generation.render import render
from chalicelib.template_language.chunks import literal
from chalicelib.templates.parts import renderer

CONTENT = {"from": "News <news@example.test>", "subject": "Hi {{n}}", "text": "Hello {{n}}"}


def filling(
    data: dict[str, Any], dynamic: dict[str, Any] | None = None, snippets: Any = None
) -> Any:
    """Return what fills in the parts of one message."""
    fill = renderer(data, dynamic or {}, snippets)
    return SimpleNamespace(text=fill, chunks=lambda source, part: literal(fill(source, part)))


def test_every_part_is_rendered_as_its_own_kind() -> None:
    content = CONTENT | {
        "reply_to": "{{n}}@example.test",
        "html": "<p>{{n}}</p>",
        "amp_html": "<i>{{n}}</i>",
        "headers": {"X-Name": "{{n}}"},
    }
    rendered = render(content, filling({"n": "<b>"}))
    assert rendered.sender == Mailbox("news@example.test", "News")
    assert rendered.subject == "Hi <b>"
    assert rendered.reply_to == "<b>@example.test"
    assert str(rendered.text) == "Hello <b>"
    assert str(rendered.html) == "<p>&lt;b&gt;</p>"
    assert str(rendered.amp_html) == "<i>&lt;b&gt;</i>"
    assert rendered.headers == {"X-Name": "<b>"}


def test_parts_that_are_missing_or_empty_are_left_out() -> None:
    content = render(CONTENT | {"html": "", "headers": {}}, filling({"n": 1}))
    assert (content.html, content.amp_html, content.reply_to) == (None, None, "")
    assert content.headers == {}


@pytest.mark.parametrize(
    ("sender", "mailbox"),
    [
        ("{{n}}@example.test", Mailbox("ann@example.test")),
        ({"email": "{{n}}@example.test"}, Mailbox("ann@example.test")),
        ({"email": "a@b.test", "name": "{{n}}"}, Mailbox("a@b.test", "ann")),
        ({"email": "X <a@b.test>", "name": ""}, Mailbox("a@b.test", "X")),
    ],
)
def test_from_is_a_text_or_an_object(sender: Any, mailbox: Mailbox) -> None:
    assert render(CONTENT | {"from": sender}, filling({"n": "ann"})).sender == mailbox


@pytest.mark.parametrize("sender", ["{{n}}", {"email": "{{n}}", "name": "x"}])
def test_a_from_that_is_no_address_is_a_fault(sender: Any) -> None:
    with pytest.raises(RenderFault, match="invalid address: 'nobody'"):
        render(CONTENT | {"from": sender}, filling({"n": "nobody"}))


def test_a_fault_says_where_it_is() -> None:
    with pytest.raises(RenderFault) as fault:
        render(CONTENT | {"html": "a\n{{render_snippet('x')}}"}, filling({}))
    assert str(fault.value).startswith("[internal] Error while rendering part html: line 2: ")


def test_snippets_and_dynamic_content_come_from_their_sources() -> None:
    content = CONTENT | {
        "html": "{{render_snippet('s')}}{{render_dynamic_content(dynamic_html.d)}}",
    }
    source = filling(
        {"n": 1, "dynamic_html": {"d": "of the recipient"}},
        {"dynamic_html": {"d": "<b>{{n}}</b>"}},
        {"s": {"html": "<i>{{n}}</i>"}}.get,
    )
    assert str(render(content, source).html) == "<i>1</i><b>1</b>"


def test_bodies_may_stay_as_they_are_while_headers_are_filled_in() -> None:
    content = CONTENT | {"html": "{{n", "headers": {"X-Name": "{{n}}"}}
    rendered = render(content, filling({"n": 1}), verbatim_bodies=True)
    assert (str(rendered.text), str(rendered.html)) == ("Hello {{n}}", "{{n")
    assert (rendered.subject, rendered.headers) == ("Hi 1", {"X-Name": "1"})
