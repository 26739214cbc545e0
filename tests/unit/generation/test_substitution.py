"""The parts of messages are rendered, and compiled as rarely as possible."""

from __future__ import annotations

from typing import Any

import pytest

from chalicelib.generation import substitution
from chalicelib.generation.substitution import Substitution, fills_bodies
from chalicelib.template_language import HTML, TEXT, TemplatePart, compile_part, header
from chalicelib.tracking.links import MARK
from tests.unit.transmissions.examples import OPTIONS, make_transmission

pytestmark = pytest.mark.usefixtures("cloud")

SUBJECT = header("Subject")
VERBATIM = OPTIONS | {"perform_substitutions": False}


@pytest.mark.parametrize(
    ("fields", "filled"),
    [
        ({}, True),
        ({"options": VERBATIM}, False),
        ({"content": {}, "raw": b"x", "substitute": True}, True),
        ({"content": {}, "raw": b"x", "substitute": True, "options": VERBATIM}, False),
        ({"content": {}, "raw": b"x"}, False),
    ],
)
def test_bodies_are_filled_unless_they_go_out_verbatim(fields: Any, filled: bool) -> None:
    assert fills_bodies(make_transmission(**fields)) is filled


def test_each_part_is_compiled_once_a_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []

    def leases_on(source: str, part: TemplatePart) -> Any:
        compiled.append(source)
        return compile_part(source, part)

    monkeypatch.setattr(substitution, "compile_part", leases_on)
    chunk = Substitution(make_transmission())
    for number in range(3):
        recipient = {"email": "a@b.test", "substitution_data": {"n": number}}
        fill = chunk.filling(recipient).text
        assert fill("{{n}}", HTML) == fill("{{n}}", TEXT) == fill("{{n}}", SUBJECT) == str(number)
    assert compiled == ["{{n}}"] * 3


def test_links_are_marked_in_bodies_and_never_in_headers() -> None:
    data = {"dynamic_plain": {"x": "http://b"}, "dynamic_html": {"x": "http://c"}}
    substitution = Substitution(make_transmission(substitution_data=data))
    fill = substitution.filling({"email": "a@b.test"}).text
    text = "http://a {{render_dynamic_content(dynamic_plain.x)}}"
    assert fill(text, TEXT) == f"{MARK}http://a {MARK}http://b"
    assert fill(text, SUBJECT) == "http://a http://b"
    html = "{{render_dynamic_content(dynamic_html.x)}}"
    assert fill(html, HTML) == f"{MARK}http://c"
