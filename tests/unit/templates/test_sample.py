"""The service's sample template belongs to no account, and every account can use it."""

from __future__ import annotations

import pytest

from infrastructure.bootstrap import ensure_sample_template
from tests.unit.templates.api import CONTENT, Api

SAMPLE = "my-first-email"
PATH = f"/templates/{SAMPLE}"


@pytest.fixture(autouse=True)
def _sample(cloud: None) -> None:
    ensure_sample_template()


@pytest.mark.parametrize("part", [None, 0, 7])
@pytest.mark.parametrize("shared", [{}, {"shared_with_subaccounts": "true"}])
def test_accounts_and_subaccounts_see_it(
    api: Api, part: int | None, shared: dict[str, str]
) -> None:
    assert [each["id"] for each in api.get("/templates", part, **shared).results] == [SAMPLE]
    assert api.get(PATH, part).results["content"]["subject"] == "Your first email"


def test_it_is_not_among_the_templates_that_are_not_shared(api: Api) -> None:
    assert api.get("/templates", shared_with_subaccounts="false").results == []


def test_it_can_be_previewed(api: Api) -> None:
    text = api.post(f"{PATH}/preview", part=7).results["text"]
    assert text.startswith("Congratulations")


@pytest.mark.parametrize("part", [0, 7])
def test_no_account_can_change_or_delete_it(api: Api, part: int) -> None:
    for response in (api.put(PATH, {"name": "Mine"}, part), api.delete(PATH, part)):
        assert response.status == 403
        assert "belongs to the service" in response.errors[0]["description"]
    assert api.get(PATH).results["name"] == "Your first email"


def test_a_template_of_the_account_hides_it(api: Api) -> None:
    api.create(SAMPLE)
    assert api.get(PATH).results["content"] == CONTENT
    assert len(api.get("/templates").results) == 1
    assert api.get(PATH, part=7).results["name"] == "Your first email"
    assert api.delete(PATH).status == 200
    assert api.get(PATH).results["name"] == "Your first email"
