from __future__ import annotations

from pathlib import Path

import pytest

from infrastructure import access_patterns
from infrastructure.access_patterns import UnreadablePatterns, patterns_of
from infrastructure.docs import ARCHITECTURE, architecture, reference

DOCSTRING = '''"""Keep things.

Access patterns of ``config``:

- one thing of an owner → ``thing#<account>`` / ``thing#<owner>``
- the things of an account, in the order of their
  names → ``account#<account>/things`` / ``<owner>/*`` [by_owner] (cached for
  ``KEY_CACHE_SECONDS``)

A thing is never changed.

- This is no access pattern.

Access patterns of ``bucket``:

- the body of a thing → ``things/<id>``
"""
'''


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(access_patterns, "ROOT", tmp_path)
    path = tmp_path / "chalicelib" / "things" / "store.py"
    path.parent.mkdir(parents=True)
    return path


def test_the_patterns_of_a_docstring_become_rows_of_a_table(store: Path) -> None:
    store.write_text(DOCSTRING)
    assert [pattern.row() for pattern in patterns_of(store)] == [
        "| `config` | one thing of an owner | `thing#<account>` / `thing#<owner>` "
        "| `things/store.py` |",
        "| `config` | the things of an account, in the order of their names "
        "(cached for `KEY_CACHE_SECONDS`) | `account#<account>/things` / `<owner>/*` in `by_owner` "
        "| `things/store.py` |",
        "| `bucket` | the body of a thing | `things/<id>` | `things/store.py` |",
    ]


@pytest.mark.parametrize("bullet", ["a question without a key", "one → ``a`` → ``b``", "x → a"])
def test_a_pattern_in_another_form_is_an_error(store: Path, bullet: str) -> None:
    store.write_text(f'"""Keep.\n\nAccess patterns of ``config``:\n\n- {bullet}\n"""')
    with pytest.raises(UnreadablePatterns, match=r"things/store\.py"):
        list(patterns_of(store))


def test_the_generated_part_of_the_architecture_page_is_current() -> None:
    text = ARCHITECTURE.read_text(encoding="utf-8")
    assert text == architecture(text), "ARCHITECTURE.md is not up to date: run `make docs`"


def test_the_reference_is_current() -> None:
    for path, text in reference().items():
        assert path.read_text(encoding="utf-8") == text, f"run `make docs` for {path.name}"
