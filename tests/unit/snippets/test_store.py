from __future__ import annotations

from typing import Any

import pytest

from chalicelib.core.dynamo import Table
from chalicelib.core.errors import Unavailable
from chalicelib.core.scope import Scope
from chalicelib.snippets import store
from chalicelib.snippets.model import Snippet
from chalicelib.snippets.request import SnippetBody, apply_update, new_snippet
from chalicelib.template_language import TEXT, TemplateRenderError, compile_part

pytestmark = pytest.mark.usefixtures("cloud")

PRIMARY, SUB = Scope(1, 0), Scope(1, 7)


def create(scope: Scope = PRIMARY, text: str = "one", **fields: Any) -> None:
    assert store.create(new_snippet(scope, {"id": "s", "content": {"text": text}, **fields}))


def update(scope: Scope = PRIMARY, **fields: Any) -> bool:
    body = SnippetBody.parse(fields)
    return store.update(scope, "s", lambda snippet: apply_update(snippet, body))


def text_for(subaccount_id: int | None = None) -> str | None:
    content = store.source(1, subaccount_id)("s")
    return content["text"] if content else None


class Reads:
    """Counts the items that are read from the table, by kind."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.kinds: list[str] = []
        get = Table.get

        def counted(table: Table, pk: str, sk: str, **options: Any) -> Any:
            self.kinds.append(sk.partition("#")[0])
            return get(table, pk, sk, **options)

        monkeypatch.setattr(Table, "get", counted)

    def taken(self) -> list[str]:
        kinds, self.kinds = self.kinds, []
        return kinds


def test_a_concurrent_edit_is_not_lost() -> None:
    create()
    rivals = iter([{"name": "rival"}])

    def change(snippet: Snippet) -> Snippet:
        for fields in rivals:
            update(**fields)
        return apply_update(snippet, SnippetBody.parse({"content": {"html": "two"}}))

    assert store.update(PRIMARY, "s", change)
    snippet = store.get(1, None, "s")
    assert snippet is not None
    assert (snippet.name, dict(snippet.content)) == ("rival", {"text": "one", "html": "two"})


def test_an_edit_that_always_meets_a_conflict_is_given_up() -> None:
    create()

    def change(snippet: Snippet) -> Snippet:
        update(name=snippet.revision)
        return apply_update(snippet, SnippetBody.parse({"name": "x"}))

    with pytest.raises(Unavailable):
        store.update(PRIMARY, "s", change)


def test_a_list_reads_no_content() -> None:
    create(text="x" * 100_000)
    items = Table("config").query_all(
        "#owner = :owner", {"owner": "account#1/snippets"}, index="by_owner"
    )
    assert ["body" in item for item in items] == [False]


def test_the_source_finds_what_its_sender_may_use() -> None:
    assert text_for() is None
    create()
    assert (text_for(), text_for(7)) == ("one", None)
    update(shared_with_subaccounts=True)
    assert text_for(7) == "one"
    create(SUB, "own")
    assert (text_for(), text_for(7), text_for(8)) == ("one", "own", "one")


@pytest.mark.parametrize("bad", ["", "a b", "x" * 3000, "a#b", "\0"])
def test_the_source_does_not_look_up_impossible_ids(bad: str) -> None:
    assert store.source(1, None)(bad) is None
    assert store.source(1, 7)(bad) is None


def test_an_edit_counts_for_the_next_chunk_at_once() -> None:
    create()
    assert text_for() == "one"
    update(content={"text": "two"})
    assert text_for() == "two"
    store.delete(PRIMARY, "s")
    assert text_for() is None
    create(text="three")
    assert text_for() == "three"


def test_a_chunk_has_the_same_snippet_in_all_its_messages() -> None:
    create()
    source = store.source(1, None)
    assert source("s") == {"text": "one"}
    assert source("later") is None
    update(content={"text": "two"})
    assert source("s") == {"text": "one"}


def test_a_chunk_reads_records_once_and_content_only_when_it_is_new(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    create()
    reads = Reads(monkeypatch)
    source = store.source(1, None)
    for _ in range(3):
        source("s")
    assert reads.taken() == ["summary", "snippet"]
    text_for()
    assert reads.taken() == ["summary"]
    update(content={"text": "two"})
    reads.taken()
    assert text_for() == "two"
    assert reads.taken() == ["summary", "snippet"]


def test_a_snippet_deleted_between_its_two_reads_does_not_exist(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    create()
    get = store.get

    def delete_then_get(*args: Any) -> Snippet | None:
        store.delete(PRIMARY, "s")
        return get(*args)

    monkeypatch.setattr(store, "get", delete_then_get)
    assert text_for() is None


def test_templates_render_with_a_source() -> None:
    create(text="Hi {{n}}")
    part = compile_part("[{{render_snippet('s')}}]", TEXT)
    assert part.render({"n": "Bo"}, snippets=store.source(1, None)) == "[Hi Bo]"
    with pytest.raises(TemplateRenderError):
        part.render({"n": "Bo"}, snippets=store.source(1, 7))
