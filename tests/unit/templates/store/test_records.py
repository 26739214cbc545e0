from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.core import aws
from chalicelib.core.dynamo import Table
from chalicelib.core.errors import ApiError, Unavailable
from chalicelib.core.scope import Scope
from chalicelib.core.settings import settings
from chalicelib.templates.model import Edit, Template, apply_edit, new_template
from chalicelib.templates.store import bodies, leases, records
from tests.unit.templates.api import CONTENT

PRIMARY, WHOLE, SUB = Scope(1, 0), Scope(1, None), Scope(1, 7)
LARGE = CONTENT | {"html": "".join(random.Random(1).choices("abcdefghijklmnop<>/= ", k=400_000))}


def create(template_id: str = "welcome", content: Any = CONTENT, **fields: Any) -> None:
    assert records.create(new_template(PRIMARY, template_id, Edit(**fields)), content)


def update(content: Any = None, preview_data: Any = None, **fields: Any) -> Template | None:
    def change(template: Template, ref: str | None) -> Template:
        return apply_edit(template, Edit(content_ref=ref, **fields))

    return records.update(PRIMARY, "welcome", change, content, preview_data)


def objects() -> list[str]:
    page = aws.s3().list_objects_v2(Bucket=settings().bucket_name)
    return [each["Key"] for each in page.get("Contents", [])]


def items() -> list[str]:
    present = Table("config").query_all("#pk = :pk", {"pk": "template#1#welcome"})
    return sorted(item["sk"].partition("#")[0] for item in present)


def read(draft: bool | None = None) -> Any:
    present = records.read(PRIMARY, "welcome", draft)
    return present and present.content


@pytest.mark.usefixtures("cloud")
class TestContent:
    def test_small_content_is_kept_in_an_item(self) -> None:
        create()
        assert (items(), objects()) == (["content", "head"], [])
        assert read() == CONTENT

    @pytest.mark.spec("2.3-t4")
    def test_large_content_is_stored_in_the_bucket(self) -> None:
        create(content=LARGE)
        assert items() == ["head"]
        (key,) = objects()
        assert key.startswith("templates/1/")
        assert read() == LARGE

    def test_content_that_was_replaced_is_removed(self) -> None:
        create(content=LARGE)
        update(LARGE | {"subject": "Two"})
        assert len(objects()) == 1
        update(CONTENT)
        assert (items(), objects()) == (["content", "head"], [])
        update(CONTENT | {"subject": "Three"})
        assert items() == ["content", "head"]
        assert read()["subject"] == "Three"

    def test_preview_data_that_was_replaced_or_removed_leaves_nothing_behind(self) -> None:
        create()
        update(preview_data=LARGE)
        assert (items(), len(objects())) == (["content", "head"], 1)
        update(preview_data={"name": "Anna"})
        assert (items(), objects()) == (["content", "content", "head"], [])
        update(CONTENT | {"subject": "Two"}, preview_data={"name": "Berta"})
        assert (items(), objects()) == (["content", "content", "head"], [])
        update(preview_data={})
        assert items() == ["content", "head"]
        update(preview_data=LARGE)
        assert leases.delete(PRIMARY, "welcome")
        assert (items(), objects()) == ([], [])

    def test_refused_preview_data_leaves_nothing_behind(self) -> None:
        create()
        assert not records.create(new_template(PRIMARY, "welcome", Edit()), CONTENT, LARGE)
        assert records.update(PRIMARY, "unknown", lambda each, _: each, None, LARGE) is None
        assert (items(), objects()) == (["content", "head"], [])

    def test_content_stays_while_either_version_has_it(self) -> None:
        create(content=LARGE)
        update(published=True)
        assert len(objects()) == 1
        update(CONTENT)
        assert (read(draft=False), read(draft=True)) == (LARGE, CONTENT)
        update(published=True)
        assert (items(), objects()) == (["content", "head"], [])

    @pytest.mark.parametrize("content", [CONTENT, LARGE])
    def test_refused_content_leaves_nothing_behind(self, content: Any) -> None:
        create()
        assert not records.create(new_template(PRIMARY, "welcome", Edit()), content)

        def refuse(template: Template, ref: str | None) -> Template:
            raise ApiError(422, "no")

        with pytest.raises(ApiError):
            records.update(PRIMARY, "welcome", refuse, content)
        assert records.update(PRIMARY, "unknown", refuse, content) is None
        assert (items(), objects()) == (["content", "head"], [])

    def test_content_stays_when_a_write_has_no_known_result(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        create()

        def lose_the_answer(*_: Any) -> bool:
            raise ConnectionError

        monkeypatch.setattr(records, "_write", lose_the_answer)
        with pytest.raises(ConnectionError):
            update(LARGE)
        assert len(objects()) == 1


@pytest.mark.usefixtures("cloud")
class TestConcurrentEdits:
    def test_a_concurrent_edit_is_not_lost(self) -> None:
        create(name="one")
        rivals = iter(["rival"])

        def change(template: Template, ref: str | None) -> Template:
            for name in rivals:
                update(description=name)
            return apply_edit(template, Edit(name="two"))

        records.update(PRIMARY, "welcome", change, None)
        template = records.get(1, None, "welcome")
        assert template is not None
        assert (template.draft.name, template.draft.description) == ("two", "rival")
        assert template.revision == 3

    @pytest.mark.parametrize("rival", [CONTENT, LARGE])
    def test_content_of_both_edits_is_accounted_for(self, rival: Any) -> None:
        create(published=True)
        rivals = iter([rival])

        def change(template: Template, ref: str | None) -> Template:
            for content in rivals:
                update(content | {"subject": "rival"}, of_published=True)
            return apply_edit(template, Edit(content_ref=ref))

        records.update(PRIMARY, "welcome", change, LARGE)
        assert read(draft=True) == LARGE
        assert read(draft=False)["subject"] == "rival"
        assert len(items()) + len(objects()) == 3

    def test_an_edit_that_always_meets_a_conflict_ends_in_503(self) -> None:
        create()

        def change(template: Template, ref: str | None) -> Template:
            update(description=f"{template.revision}")
            return apply_edit(template, Edit(name="two"))

        with pytest.raises(Unavailable):
            records.update(PRIMARY, "welcome", change, LARGE)
        assert objects() == []

    def test_a_use_that_is_recorded_meanwhile_is_not_lost(self) -> None:
        create()
        key = ("template#1#welcome", "head#0000000000")

        def change(template: Template, ref: str | None) -> Template:
            Table("config").update(*key, "SET #last_use = :now", values={"now": 5.0})
            return apply_edit(template, Edit(name="two"))

        records.update(PRIMARY, "welcome", change, None)
        present = records.get(1, None, "welcome")
        assert present is not None
        assert (present.last_use, present.draft.name) == (5.0, "two")

    def test_a_reader_whose_content_is_replaced_gets_the_new_one(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        create()
        find, rivals = records.find, iter([CONTENT | {"subject": "rival"}])

        def find_then_edit(scope: Scope, template_id: str) -> Template | None:
            present = find(scope, template_id)
            for content in rivals:
                update(content)
            return present

        monkeypatch.setattr(records, "find", find_then_edit)
        assert read()["subject"] == "rival"


@pytest.mark.usefixtures("cloud")
class TestGetContent:
    def test_get_content_returns_everything_that_a_transmission_needs(self) -> None:
        create(options={"open_tracking": False}, published=True)
        update(CONTENT | {"subject": "Two"}, options={"transactional": True})
        published = records.get_content(PRIMARY, "welcome", draft=False)
        assert published.content == CONTENT
        assert published.version.options == {"open_tracking": False}
        assert published.version.published
        draft = records.get_content(PRIMARY, "welcome", draft=True)
        assert draft.content["subject"] == "Two"
        assert draft.version.options == {"open_tracking": False, "transactional": True}
        assert draft.version.number > published.version.number

    @pytest.mark.spec("7-t21")
    def test_a_missing_template_or_version_is_refused_with_1603(self) -> None:
        create()
        for template_id, text in (
            ("unknown", "template 'unknown' does not exist"),
            ("welcome", "published version of template 'welcome' does not exist"),
        ):
            with pytest.raises(ApiError) as error:
                records.get_content(PRIMARY, template_id, draft=False)
            assert (error.value.status, error.value.code) == (422, "1603")
            assert error.value.errors[0]["description"] == text

    def test_a_subaccount_may_send_what_the_primary_account_shares(self) -> None:
        create()
        with pytest.raises(ApiError):
            records.get_content(SUB, "welcome", draft=True)
        update(shared=True)
        assert records.get_content(SUB, "welcome", draft=True).template.subaccount_id is None

    def test_content_is_read_once_and_the_record_each_time(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        create(content=LARGE)
        calls: list[str] = []
        load = bodies._read
        monkeypatch.setattr(bodies, "_read", lambda pk, ref: calls.append(ref) or load(pk, ref))
        for _ in range(3):
            assert records.get_content(PRIMARY, "welcome", draft=True).content == LARGE
        assert len(calls) == 1
        update(CONTENT)
        assert records.get_content(PRIMARY, "welcome", draft=True).content == CONTENT

    def test_a_template_that_is_created_again_has_its_own_content(self) -> None:
        create()
        assert read() == CONTENT
        template = records.get(1, None, "welcome")
        assert template is not None
        Table("config").delete(*records.head(template))
        create(content=CONTENT | {"subject": "Anew"})
        assert read()["subject"] == "Anew"


@pytest.mark.usefixtures("cloud")
def test_a_list_reads_no_content() -> None:
    create(content=LARGE)
    create("b")
    present = Table("config").query_all(
        "#owner = :owner", {"owner": "account#1/templates"}, index="by_owner"
    )
    assert [item["sk"] for item in present] == ["head#0000000000"] * 2


@pytest.mark.usefixtures("cloud")
@pytest.mark.parametrize("scope", [PRIMARY, WHOLE, SUB])
def test_an_id_that_no_template_can_have_is_not_looked_up(scope: Scope) -> None:
    for bad in ("x" * 3000, "", "a#b", "a\0"):
        assert records.find(scope, bad) is None


def test_replacing_a_version_never_changes_the_one_before() -> None:
    template = new_template(PRIMARY, "x", Edit(options={"open_tracking": True}, published=True))
    after = apply_edit(template, Edit(options={"open_tracking": False}))
    assert template.draft.options == {"open_tracking": True}
    assert after.published == template.published
    assert after == replace(template, draft=after.draft, revision=2)
