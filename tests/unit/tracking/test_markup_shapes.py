"""Messages with the literals of an earlier one are rewritten like their joined text."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chalicelib.template_language.chunks import Chunks
from chalicelib.tracking import markup_shapes
from chalicelib.tracking.literal_links import mark
from chalicelib.tracking.markup_chunks import MarkupChunks
from chalicelib.tracking.markup_shapes import MarkupShapes, Shape
from chalicelib.tracking.rewrite import LinkRewriter
from tests.unit.tracking.examples import BASE, issuer
from tests.unit.tracking.test_markup_chunks import ALL, VALUES, chunks_of, literals

#: Literals, each followed by the values of three messages
places = st.lists(
    st.tuples(literals, st.one_of(st.none(), st.lists(st.sampled_from(VALUES), min_size=3))),
    max_size=10,
)
LINK = mark('<p><a href="https://a.example/?r=')


def messages_of(places: list[tuple[str, list[str] | None]]) -> Iterator[Chunks]:
    """Yield the chunks of three messages that differ in their values."""
    for number in range(3):
        pieces = [
            piece
            for literal, values in places
            for piece in ((True, literal), *([] if values is None else [(False, values[number])]))
        ]
        yield chunks_of(pieces)


@settings(max_examples=1000)
@given(places)
@example([(LINK, ["ann", "bob", "a b"]), ('">', None), ("</a>", ["x", "<b>", "y"])])
@example([(LINK, ["ann", "x" * 600, "x" * 5000]), ('">', None)])
@example([(LINK, ["ann", "", "/t/"]), ('"><body>', None), ("</body>", ["x", "", "y"])])
def test_messages_with_the_same_literals_are_rewritten_like_their_text(
    places: list[tuple[str, list[str] | None]],
) -> None:
    rewriter = LinkRewriter(BASE, marked=True)
    for chunks in messages_of(places):
        assert str(rewriter.html_chunks(chunks, issuer(), ALL)) == rewriter.html(
            str(chunks), issuer(), ALL
        )


def shapes() -> MarkupShapes:
    return MarkupShapes(MarkupChunks(BASE, amp=False))


def newsletter(reader: str) -> Chunks:
    return chunks_of([(True, LINK), (False, reader), (True, '">Look</a></p>')])


def test_the_markup_of_a_known_shape_is_not_divided_again(monkeypatch: pytest.MonkeyPatch) -> None:
    rewriter = shapes()
    rewriter.assembled(newsletter("ann"), issuer())
    monkeypatch.delattr(MarkupChunks, "pieces")
    monkeypatch.delattr(MarkupChunks, "transition")
    texts = rewriter.assembled(newsletter("bob"), issuer()).texts
    assert str(Chunks(texts)) == LinkRewriter(BASE, marked=True).html(
        str(newsletter("bob")), issuer(), ALL._replace(opens=False, initial_opens=False)
    )


def test_parts_without_a_shape_are_not_analysed_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    rewriter, attempts = shapes(), []
    shape_of = markup_shapes._shape_of
    monkeypatch.setattr(
        markup_shapes, "_shape_of", lambda *args: attempts.append(1) or shape_of(*args)
    )
    for number in range(50):
        rewriter.assembled(chunks_of([(True, "<p>"), (False, f"<b>{number}</b>")]), issuer())
    assert len(attempts) == markup_shapes._MOST_ATTEMPTS


def test_the_shapes_of_a_process_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markup_shapes, "_MOST_CHUNKS", 100)
    rewriter = shapes()
    for number in range(60):
        rewriter.assembled(chunks_of([(True, f"<p>{number}")] * 7), issuer())
        learned = [shape for layout in rewriter._layouts.values() for shape in layout.shapes]
        assert all(isinstance(shape, Shape) for shape in learned)
        assert len(learned) * 7 <= 100 + 7


def test_each_branch_of_a_template_has_a_shape() -> None:
    rewriter = shapes()
    texts = frozenset(("<p>", "<b>", "<i>"))
    for middle in ("<b>", "<i>", "<b>"):
        assert "".join(rewriter.assembled(Chunks(["<p>", middle], texts), issuer()).texts) == (
            f"<p>{middle}"
        )
    (layout,) = rewriter._layouts.values()
    assert len(layout.shapes) == 2
