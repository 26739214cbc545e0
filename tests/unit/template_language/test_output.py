"""Values are printed as their place in the template needs them."""

from __future__ import annotations

import pytest

from chalicelib.template_language import AMP_HTML, HTML, TEXT, TemplatePart, header

from .rendering import render

TEMPLATE = """\
a\0b {{v}} {{{v}}} {{render_snippet('s')}} {{render_dynamic_content(dynamic_html.d)}}
{{if v}}\0{{end}} https://a.test/?{{v}}&{{{v}}}
"""


@pytest.mark.parametrize("part", [HTML, TEXT, AMP_HTML, header("Subject")])
@pytest.mark.parametrize("letter", ["", "é"])
def test_no_output_has_a_nul(part: TemplatePart, letter: str) -> None:
    def output(nul: str) -> str:
        snippet = dict.fromkeys(("html", "text", "amp_html"), f"s{nul}{{{{v}}}}")
        return render(
            TEMPLATE.replace("\0", nul),
            {"v": f"<{nul}{letter}>"},
            part,
            snippets=lambda _: snippet,
            dynamic={"dynamic_html": {"d": f"{nul}d"}},
        )

    assert output("\0") == output("")


@pytest.mark.parametrize("part", [HTML, TEXT, AMP_HTML, header("Subject")])
def test_a_part_without_tags_has_no_nul_either(part: TemplatePart) -> None:
    assert render("a\0b", part=part) == "ab"
