"""Two accounts that reach for the same names at the same moment, on the local cloud."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from chalicelib.core import aws
from chalicelib.core.caches import clear_caches
from chalicelib.core.domain_names import is_within
from chalicelib.sending_domains import store
from tests.fake_cloud import create_resources
from tests.unit.infrastructure.clouds import LocalCloud
from tests.unit.sending_domains.examples import domain

TREES = 12


@pytest.fixture
def cloud_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    cloud = LocalCloud(tmp_path / "cloud")
    cloud.start()
    monkeypatch.setenv("AWS_ENDPOINT_URL", cloud.url)
    clear_caches()
    aws.clear_cache()
    try:
        create_resources()
        yield
    finally:
        cloud.close()
        monkeypatch.undo()
        clear_caches()
        aws.clear_cache()


@pytest.mark.usefixtures("cloud_of_its_own")
def test_of_two_accounts_that_take_a_domain_and_its_parent_at_once_at_most_one_gets_them() -> None:
    for tree in range(TREES):
        names = [f"example{tree}.com", f"a.example{tree}.com", f"b.a.example{tree}.com"]
        attempts = [(name, account) for account, name in enumerate(names, 1)] * 2
        together = Barrier(len(attempts))

        def attempt(
            wanted: tuple[str, int], together: Barrier = together
        ) -> tuple[str, int] | None:
            together.wait()
            return wanted if store.create(domain(*wanted, dkim=None)) else None

        with ThreadPoolExecutor(len(attempts)) as pool:
            taken = [each for each in pool.map(attempt, attempts) if each]
        assert taken, "somebody gets it"
        for (one, first), (two, second) in itertools.combinations(taken, 2):
            assert first == second or not (is_within(one, two) or is_within(two, one))


@pytest.mark.usefixtures("cloud_of_its_own")
def test_a_domain_that_is_taken_and_released_again_and_again_stays_countable() -> None:
    def attempt(number: int) -> None:
        mine = domain(f"s{number}.example.com", 1, dkim=None)
        for _ in range(5):
            assert store.create(mine)
            found = store.get(mine.domain)
            assert found is not None
            store.delete(found)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(attempt, range(6)))
    assert store.create(domain("example.com", 2, dkim=None))
