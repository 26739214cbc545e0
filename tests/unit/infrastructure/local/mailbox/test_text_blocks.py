"""Search texts by the words of a block; the answers are those of a search in each text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infrastructure.local.mailbox import text_blocks
from infrastructure.local.mailbox.mailbox_query import conditions_of
from infrastructure.local.mailbox.rows import Condition
from infrastructure.local.mailbox.vocabulary import BLOCK_SIZE, Vocabulary, bitmap, set_of, union
from tests.unit.infrastructure.local.mailbox.searched_box import SearchedBox

WORDS = st.text("ab.ß_é", min_size=1, max_size=4)
SETS = st.sets(st.integers(0, BLOCK_SIZE - 1), min_size=1, max_size=300)


@given(st.dictionaries(WORDS, SETS, min_size=1, max_size=80), st.text("ab.ß", min_size=1))
@settings(max_examples=100, deadline=None)
def test_the_messages_of_all_words_with_a_text_in_them_are_found(
    sets: dict[str, set[int]], text: str
) -> None:
    vocabulary = Vocabulary()
    for offset in sorted(set().union(*sets.values())):
        vocabulary.add([word for word, members in sets.items() if offset in members], offset)
    words, rows = vocabulary.text(), dict(row for rows in vocabulary.rows() for row in rows)
    everything = set_of(set().union(*sets.values()))
    matching = set().union(*(members for word, members in sets.items() if text in word))
    assert union(text.encode(), words, rows.__getitem__, everything) == set_of(matching)


@pytest.mark.parametrize("word_count", [255, 256, 257, 1000, 5000])
def test_a_text_that_very_many_words_have_is_found_in_all_of_them(word_count: int) -> None:
    vocabulary = Vocabulary()
    for number in range(word_count):
        vocabulary.add([f"x{number}y", f"z{number}"], number % 1000)
    words, rows = vocabulary.text(), dict(row for rows in vocabulary.rows() for row in rows)
    messages = union(b"x", words, rows.__getitem__, set_of(range(2000)))
    assert messages == set_of(range(min(word_count, 1000)))


def test_a_set_is_a_bitmap_of_the_size_of_a_block() -> None:
    assert len(bitmap(set_of([0, BLOCK_SIZE - 1]))) * 8 == BLOCK_SIZE


BODIES = [
    # Frequent words, of which no phrase goes over a line, a double blank or a tab
    *["the spring sale begins"] * 2,
    "begins the\nspring sale",
    "sale  begins the spring",
    "spring\tsale",
    "the spring sale begins",
    "sale of the spring, today",
    "write to ann@b.test or (ben@c.test)",
    "https://shop.example/a?b=1&c=2",
    "snake_case and größe",
    "nothing",
    "",
]


@pytest.fixture(scope="module")
def boxes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[SearchedBox]]:
    """Yield a box without vocabularies and one with them, of the same messages."""
    boxes = [SearchedBox(tmp_path_factory.mktemp("box")) for _ in range(2)]
    for box in boxes:
        for number, body in enumerate(BODIES * 3):
            box.add(subject=str(number), body=body)
    boxes[1].build()
    yield boxes
    for box in boxes:
        box.mailbox.close()


def numbers(box: SearchedBox, *texts: str, negated: bool = False) -> list[int]:
    condition = Condition("", needs_details=True, texts=texts, negated=negated)
    return [int(row.subject) for row in reversed(box.mailbox.index.search([condition], 1000))]


@pytest.mark.parametrize("negated", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        *("sale", "spring sale", "ale be", "the", "e", " ", "ann@b.test", "@", "c.test)", "_"),
        *("größe", "größ", "shop.example/a?b", "b=1&c", "absent", "sale  begins", "sale begins"),
        *("sale begins the", "he\nspr", "sale  b", "g sale", "begins the", "g\ts", "pring sale be"),
        *("spring, today", "to ann@b.test or", "to absent or", "le of the s", " the spring"),
    ],
)
def test_a_search_by_vocabularies_finds_what_one_in_the_texts_finds(
    boxes: list[SearchedBox], text: str, negated: bool
) -> None:
    lines = "\nshop@a.test\nshop <shop@a.test>\nverp@x.test\nann@b.test\n"
    expected = [
        number
        for number, body in enumerate(BODIES * 3)
        if (text in lines or text in body or text in str(number)) != negated
    ]
    assert numbers(boxes[0], text, negated=negated) == expected
    assert numbers(boxes[1], text, negated=negated) == expected
    # An answer that is remembered is the same one
    assert numbers(boxes[1], text, negated=negated) == expected


@given(st.lists(st.text("abße .,@", max_size=6), max_size=3), st.booleans())
@settings(max_examples=150, deadline=None)
def test_any_texts_are_found_by_vocabularies_as_in_the_texts(
    boxes: list[SearchedBox], texts: list[str], negated: bool
) -> None:
    texts = [each for each in texts if each]
    if texts:
        first, second = (numbers(box, *texts, negated=negated) for box in boxes)
        assert first == second


@given(
    st.lists(st.text("ab \n.", max_size=8), min_size=1, max_size=9),
    st.text("ab \n.", min_size=1, max_size=4),
)
@settings(max_examples=25, deadline=None)
def test_any_phrases_of_any_texts_are_found(bodies: list[str], text: str) -> None:
    with TemporaryDirectory() as root:
        box = SearchedBox(Path(root))
        for number, body in enumerate(bodies):
            box.add(subject=str(number), body=body)
        before = numbers(box, text)
        box.build()
        assert numbers(box, text) == before
        box.mailbox.close()


def test_texts_that_are_all_different_get_no_vocabularies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_blocks, "_MOST_CHARACTERS", 100)
    box = SearchedBox(tmp_path)
    for number in range(10):
        box.add(subject=str(number), body=f"{number:040x} sale")
    box.build()
    query = "SELECT kind, length(words) FROM extra.text_blocks"
    assert box.mailbox.index._database.execute(query).fetchall() == [(0, 0)]
    assert numbers(box, "sale") == list(range(10))
    assert numbers(box, "0" * 39 + "7 sale") == [7]
    assert numbers(box, "absent", negated=True) == list(range(10))


def test_deleted_messages_are_in_no_answer(tmp_path: Path) -> None:
    box = SearchedBox(tmp_path)
    ids = [box.add(subject=str(number), body="spring sale") for number in range(5)]
    box.build()
    assert numbers(box, "sale") == [0, 1, 2, 3, 4]
    box.mailbox.delete_all(ids[1:3])
    assert numbers(box, "sale") == numbers(box, "spring sale") == [0, 3, 4]
    assert numbers(box, "absent", negated=True) == [0, 3, 4]


def test_full_blocks_get_vocabularies_once_all_details_are_there(tmp_path: Path) -> None:
    box = SearchedBox(tmp_path)
    ids = [box.add(body="early")]
    index = box.mailbox.index
    # As if messages had come and gone since
    index._database.execute("UPDATE sqlite_sequence SET seq = ?", (3 * BLOCK_SIZE - 1,))
    late = box.mailbox.add("", "ann@b.test", b"Subject: Late\r\n\r\n")
    assert index.unbuilt_block() == 0
    list(index.build_block(0))
    assert index.unbuilt_block() == 1  # empty, but not to be looked at again
    list(index.build_block(1))
    list(index.build_block(2))
    assert index.unbuilt_block() is None  # the last one is not full
    box.mailbox.delete_all(ids)
    list(index.drop_orphans())
    assert index._database.execute("SELECT count(*) FROM text_blocks").fetchone() == (0,)
    assert index._database.execute("SELECT count(*) FROM block_messages").fetchone() == (0,)
    assert [row.id for row in index.search([], 10)] == [late]


def test_details_of_messages_that_are_gone_are_dropped(tmp_path: Path) -> None:
    box = SearchedBox(tmp_path)
    present_ids = [box.add(body="kept") for _ in range(3)]
    lost = [box.add(body="lost") for _ in range(3)]
    box.mailbox.close()
    for message_id in lost:
        (tmp_path / "new" / message_id).unlink()
    box = SearchedBox(tmp_path)
    index = box.mailbox.index
    list(index.drop_orphans())
    for table in ("details", "search_fields", "search_texts"):
        assert index._database.execute(f"SELECT count(*) FROM extra.{table}").fetchone() == (3,)
    assert sorted(index.ids(conditions_of("kept"))) == present_ids
