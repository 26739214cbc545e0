from __future__ import annotations

from pathlib import Path

import pytest

from infrastructure import module_index
from infrastructure.module_index import modules, page_around, purpose_of, service_page


def test_each_module_is_listed_with_its_first_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "chalicelib" / "things"
    package.mkdir(parents=True)
    (tmp_path / "relay").mkdir()
    (package / "__init__.py").write_text('"""Things that people keep. Spec 2."""\n')
    (package / "store.py").write_text('"""Keep ``things``\nfor a day.\n\nMore text.\n"""\n')
    (package / "model.py").write_text("")
    (tmp_path / "console").mkdir()
    (tmp_path / "console" / "app.js").write_text("// Start the\n// console.\nimport x;\n// Later\n")
    monkeypatch.setattr(module_index, "ROOT", tmp_path)
    assert service_page().splitlines()[-4:] == [
        "**`chalicelib/things/`**: Things that people keep. Spec 2",
        "",
        "- `model.py`: ",
        "- `store.py`: Keep `things` for a day",
    ]
    assert page_around().splitlines()[-3:] == [
        "**`console/`**",
        "",
        "- `app.js`: Start the console",
    ]


def test_every_module_says_what_it_does() -> None:
    root = module_index.ROOT
    silent = [
        path.relative_to(root).as_posix()
        for folder in (*module_index.SERVICE, *module_index.AROUND)
        for path in modules(folder)
        if not purpose_of(path)
    ]
    assert silent == []
