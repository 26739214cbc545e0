from __future__ import annotations

import re
import subprocess
from types import SimpleNamespace
from typing import Any

import pytest

from infrastructure import bill_of_materials
from infrastructure.bill_of_materials import PRODUCTS, ROOT, Product, bill_of, requirements_of


def product(name: str) -> Product:
    return next(each for each in PRODUCTS if each.name == name)


def test_the_bill_of_the_functions_has_their_requirements_and_the_framework() -> None:
    lines = requirements_of(product("postfinch-functions"))
    assert any(line.startswith("chalice==") for line in lines)
    assert any(line.startswith("MarkupSafe==") for line in lines)
    assert not any(line.startswith("ministack") for line in lines)


def test_every_image_of_the_dockerfile_has_a_bill() -> None:
    stages = re.findall(
        r"^FROM \S+ AS (\w+)$", (ROOT / "relay/Dockerfile").read_text(), re.MULTILINE
    )
    images = {each.name for each in PRODUCTS if each.kind == "container"}
    stages = [stage for stage in stages if stage != "packages"]
    assert images == {f"postfinch-{stage}" for stage in (*stages, "service")}


def test_the_images_have_one_base() -> None:
    bases = {
        re.search(r"^ARG BASE=\S+$", (ROOT / path).read_text(), re.MULTILINE)
        for path in ("Dockerfile", "relay/Dockerfile")
    }
    assert len({base and base[0] for base in bases}) == 1


def test_no_requirement_is_listed_twice() -> None:
    for each in PRODUCTS:
        names = [re.split(r"[\[=]", line)[0] for line in requirements_of(each)]
        assert len(names) == len(set(names)), each.name


def test_the_bill_of_an_image_names_its_base_and_its_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def run(command: Any, **options: Any) -> Any:
        assert "cryptography==" in options["input"]
        return SimpleNamespace(stdout='{"metadata": {}, "components": []}')

    monkeypatch.setattr(subprocess, "run", run)
    bill = bill_of(product("postfinch-relay"))
    assert bill["metadata"]["component"]["type"] == "container"
    assert re.fullmatch(r"\d+\.\d+\.\d+", bill["metadata"]["component"]["version"])
    assert bill["components"][-1]["name"].endswith("/python")
    assert bill_of.__module__ == bill_of_materials.__name__
