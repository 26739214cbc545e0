"""Accounts that register overlapping names at the same time, on the local cloud."""

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
def local_cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
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


@pytest.mark.usefixtures("local_cloud")
def test_accounts_that_register_a_domain_and_its_parents_at_once_never_both_succeed() -> None:
    for tree in range(TREES):
        names = [f"example{tree}.com", f"a.example{tree}.com", f"b.a.example{tree}.com"]
        attempts = [(name, account) for account, name in enumerate(names, 1)] * 2
        together = Barrier(len(attempts))

        def attempt(pair: tuple[str, int], together: Barrier = together) -> tuple[str, int] | None:
            together.wait()
            return pair if store.create(domain(*pair, dkim=None)) else None

        with ThreadPoolExecutor(len(attempts)) as pool:
            successes = [each for each in pool.map(attempt, attempts) if each]
        assert successes, "one account succeeds"
        for (one, first), (two, second) in itertools.combinations(successes, 2):
            assert first == second or not (is_within(one, two) or is_within(two, one))


@pytest.mark.usefixtures("local_cloud")
def test_claims_stay_correct_when_siblings_are_registered_and_deleted_at_once() -> None:
    def attempt(number: int) -> None:
        new_domain = domain(f"s{number}.example.com", 1, dkim=None)
        for _ in range(5):
            assert store.create(new_domain)
            sending_domain = store.get(new_domain.domain)
            assert sending_domain is not None
            store.delete(sending_domain)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(attempt, range(6)))
    assert store.create(domain("example.com", 2, dkim=None))
