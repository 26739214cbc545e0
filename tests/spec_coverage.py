"""Print the statements of the specification that no test cites: ``python -m tests.spec_coverage``.

The statements are those of ``spec-rules.tsv``; tests cite them with ``@pytest.mark.spec``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parent


def statements() -> dict[str, str]:
    """Return the specification's statements, by id."""
    rows = (TESTS / "spec-rules.tsv").read_text(encoding="utf-8").splitlines()
    return {name: text for name, _, text in (row.partition("\t") for row in rows) if name}


def citations() -> Iterator[tuple[str, str]]:
    """Yield the id in each ``pytest.mark.spec("...")`` of the tests, with its file and line."""
    for path in sorted(TESTS.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)) if "mark.spec" in source else ():
            if isinstance(node, ast.Call) and _is_citation(node.func):
                place = f"{path.relative_to(TESTS.parent)}:{node.lineno}"
                for argument in node.args:
                    yield ast.literal_eval(argument), place


def _is_citation(function: ast.expr) -> bool:
    """Tell whether this is ``pytest.mark.spec``; texts of all other functions take long to make."""
    is_named_so = isinstance(function, ast.Attribute) and function.attr == "spec"
    return is_named_so and ast.unparse(function) == "pytest.mark.spec"


def main() -> None:
    """Print the statements that no test cites, and their number."""
    rules = statements()
    cited_names = {name for name, _ in citations()}
    missing = [name for name in rules if name not in cited_names]
    for name in missing:
        print(f"{name}\t{rules[name]}")
    print(f"{len(missing)} of {len(rules)} statements are cited by no test")


if __name__ == "__main__":
    main()
