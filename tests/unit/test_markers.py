"""Tests that pin AWS requests carry the marker ``cost``, and the list of slow files is true."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]


def pins_requests(test: ast.FunctionDef) -> bool:
    """Tell whether a test asserts something about the AWS requests that it collected."""
    collected = {
        item.optional_vars.id
        for node in ast.walk(test)
        if isinstance(node, ast.With)
        for item in node.items
        if ast.unparse(item.context_expr) == "aws_requests()"
        and isinstance(item.optional_vars, ast.Name)
    }
    asserts = [node.test for node in ast.walk(test) if isinstance(node, ast.Assert)]
    names = {each.id for part in asserts for each in ast.walk(part) if isinstance(each, ast.Name)}
    return bool(collected & names)


def test_tests_that_pin_aws_requests_are_marked_as_costs() -> None:
    unmarked = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in (ROOT / "tests" / "unit").rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
        and node.name.startswith("test_")
        and pins_requests(node)
        and not any("mark.cost" in ast.unparse(each) for each in node.decorator_list)
    ]
    assert unmarked == [], "mark these with @pytest.mark.cost"


def test_every_file_of_the_list_of_slow_ones_exists() -> None:
    lines = (ROOT / "tests" / "slow.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line[0] != "#" and not (ROOT / line).exists()] == []
