from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.tracking.segments import Bound, Piece, Segments, TrackedTag
from tests.unit.tracking.examples import BASE
from tests.unit.tracking.test_markup import SCRAPS


@settings(max_examples=400)
@given(
    st.lists(
        st.sampled_from(
            [
                *SCRAPS,
                "<a b href='http://b/'>",
                '<a href="http://a/"',
                '<a href="http://a/" c="> " d>',
            ]
        ),
        max_size=25,
    ).map("".join)
)
def test_cutting_markup_into_segments_changes_nothing(markup: str) -> None:
    segments = Segments(BASE, amp=False, marked=False)
    assert untracked_and_targets(segments._rest(markup)) == untracked_and_targets(
        [piece for pieces in segments.pieces(markup) for piece in pieces]
    )


def untracked_and_targets(pieces: list[Piece]) -> list[object]:
    """Return pieces in a form in which it does not matter where texts are cut."""
    joined: list[object] = [""]
    for piece in pieces:
        if isinstance(piece, str):
            joined[-1] = f"{joined[-1]}{piece}"
        elif isinstance(piece, Bound):
            joined += [piece, ""]
        else:
            joined += [(piece.before, piece.link.text, piece.after), ""]
    return joined


def test_the_cache_of_segments_is_limited() -> None:
    cut = Segments(BASE, amp=False, marked=False)
    for index in range(500):
        list(cut.pieces("".join(f"<a href='http://a/{index}/{n}'>" for n in range(20))))
    assert len(cut._cache) <= 4000
    list(cut.pieces("x" * 3_000_000))
    list(cut.pieces("y" * 10))
    assert sum(map(len, cut._cache)) <= 1_000_000


def test_a_cached_segment_gives_the_same_pieces() -> None:
    cut = Segments(BASE, amp=False, marked=False)
    text = "<body>a<a href='http://a'>b</a></body><a href='http://b' data-svc-clicktrack='0'>"
    first, again = list(cut.pieces(text)), list(cut.pieces(text))
    assert [piece for pieces in again for piece in pieces if isinstance(piece, Bound)] == [
        Bound.BODY_START,
        Bound.BODY_END,
    ]
    assert len([p for pieces in again for p in pieces if isinstance(p, TrackedTag)]) == 1
    assert all(one is other for one, other in zip(first, again, strict=True))
