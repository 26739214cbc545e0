"""Style sheets are inlined on demand, and html that is written to do harm is a fault of its own."""

from __future__ import annotations

import pytest

from chalicelib.core.confined import Confined, Died
from chalicelib.css_inlining.inliner import inline
from chalicelib.generation import css
from chalicelib.generation.css import MOST_DEATHS, CssInliner
from chalicelib.generation.faults import RenderFault

pytestmark = pytest.mark.spec("2.1-t16")

STYLE = "<style>p{color:red}</style>"
MANY = 40_000


FAULTS = [
    f"[internal] inline_css: the html cannot be inlined: it {reason}"
    for reason in ("is nested too deeply", "takes too much work", "needs too much memory")
]


def fault_of(html: str) -> str:
    """Return the fault of html, empty if it can be inlined."""
    try:
        CssInliner().inlined(html)
    except RenderFault as fault:
        return str(fault)
    return ""


@pytest.fixture(autouse=True)
def _with_less_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    less = Confined(inline, memory=512 * 1024 * 1024, seconds=0.3, per_megabyte=1.0)
    monkeypatch.setattr(css, "_inline", less)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Return the html that is inlined in another process."""
    calls: list[bytes] = []
    inline = css._inline

    def count(html: bytes) -> bytes:
        calls.append(html)
        return inline(html)

    monkeypatch.setattr(css, "_inline", count)
    return calls


def test_styles_are_inlined() -> None:
    assert CssInliner().inlined(f"{STYLE}<p>é</p>") == '<p style="color: red;">é</p>'


def test_the_same_html_is_inlined_once(calls: list[bytes]) -> None:
    html = f"{STYLE}<p>once only</p>"
    assert len({CssInliner().inlined(html) for _ in range(3)}) == 1
    assert len(calls) == 1


def test_html_without_a_style_sheet_goes_nowhere(calls: list[bytes]) -> None:
    assert CssInliner().inlined("<p>x</p>") == "<p>x</p>"
    assert calls == []


@pytest.mark.parametrize(
    "html",
    [
        pytest.param("<div></b>" * MANY, id="end tags that end nothing"),
        pytest.param("<svg>" + "<source>" * MANY, id="void elements in svg"),
        pytest.param("<div><!--</div>-->" * MANY, id="end tags in comments"),
        pytest.param("<div>" * MANY, id="elements"),
        pytest.param("<math>" + "<a/b>" * MANY, id="foreign elements"),
        pytest.param("<b a=1>" * 3000 + "<p>" * 30_000, id="formatting elements"),
        pytest.param("<style>" + "*{a:b}" * 20_000 + "</style>" + "<p>" * 20_000, id="matches"),
        pytest.param("<style>" + "p " * 5000 + "i{a:b}</style>" + "<p>" * MANY, id="ancestors"),
    ],
)
def test_html_that_would_kill_or_stall_a_worker_is_a_fault(html: str) -> None:
    assert fault_of(STYLE + html) in ("", *FAULTS)
    assert CssInliner().inlined(f"{STYLE}<p>next</p>") == '<p style="color: red;">next</p>'


@pytest.mark.parametrize("tag", ["<li>x", "<p>x", "<td>x", "<option>x", "<b></b>", "<img>"])
def test_many_elements_side_by_side_are_no_fault(tag: str) -> None:
    assert len(CssInliner().inlined(f"{STYLE}<table><ul>{tag * 5000}")) > 5000


def test_what_killed_its_process_is_not_tried_again(calls: list[bytes]) -> None:
    html = STYLE + "<div>" * MANY + "once"
    for _ in range(3):
        with pytest.raises(RenderFault):
            CssInliner().inlined(html)
    assert len(calls) == 1


def test_a_chunk_whose_messages_kill_their_processes_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = 0

    def die(html: bytes) -> bytes:
        nonlocal calls
        calls += 1
        raise Died("it takes too much work")

    monkeypatch.setattr(css, "_inline", die)
    inliner = CssInliner()
    for number in range(100):
        with pytest.raises(RenderFault):
            inliner.inlined(f"{STYLE}given up {number}")
    assert calls == MOST_DEATHS


def test_a_fault_of_the_inliner_is_one_of_the_message(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(html: bytes) -> bytes:
        raise ValueError("why")

    monkeypatch.setattr(css, "_inline", refuse)
    with pytest.raises(RenderFault, match="inline_css: why"):
        CssInliner().inlined(f"{STYLE}refused")
