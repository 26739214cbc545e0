"""Any template over any data: output or the language's own error, and quickly."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.template_language import (
    AMP_HTML,
    HTML,
    TEXT,
    Budget,
    TemplateError,
    header,
)
from chalicelib.template_language.compiled import compile_uncached

PARTS = st.sampled_from([HTML, AMP_HTML, TEXT, header("Subject")])
NAMES = st.sampled_from(["a", "b", "l", "o", "loop_var", "loop_index", "loop_vars", "missing"])

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["<&>\"'/", "{{a}}", "a", "10", "\ud800"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(NAMES | st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)
DATA = st.dictionaries(NAMES, VALUES, max_size=6)

PATHS = st.recursive(
    NAMES,
    lambda inner: (
        st.builds("{}.{}".format, inner, NAMES)
        | st.builds("{}[{}]".format, inner, inner)
        | st.builds("{}[{}]".format, inner, st.integers(-1, 3))
        | st.builds("{}['{}']".format, inner, NAMES)
    ),
    max_leaves=4,
)
LITERALS = st.sampled_from(["0", "1", "2.5", "1e300", "''", "'x'", '"10"', "true", "false", "nil"])
OPERATORS = st.sampled_from(["or", "and", "==", "!=", "<", ">", "<=", ">=", "+", "-", "*", "/"])
EXPRESSIONS = st.recursive(
    PATHS | LITERALS,
    lambda inner: (
        st.builds("{} {} {}".format, inner, OPERATORS, inner)
        | st.builds("({} {} {})".format, inner, OPERATORS, inner)
        | st.builds("{} {}".format, st.sampled_from(["not", "-", "#"]), inner)
        | st.builds("empty({})".format, inner)
        | st.builds("render_snippet({})".format, inner)
        | st.builds("render_dynamic_content(dynamic_html.{})".format, NAMES)
    ),
    max_leaves=6,
)
TEXTS = st.sampled_from(
    ["x", "\n", "  ", " y\n", "http://e.com/", '"', ", z", "", "\r\n", "{", "}}"]
)


def _blocks(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return (
        st.builds("{}{}".format, inner, inner)
        | st.builds("{{{{if {}}}}}{}{{{{end}}}}".format, EXPRESSIONS, inner)
        | st.builds(
            "{{{{if {} then}}}}{}{{{{elseif {}}}}}{}{{{{else}}}}{}{{{{end}}}}".format,
            EXPRESSIONS,
            inner,
            EXPRESSIONS,
            inner,
            inner,
        )
        | st.builds("{{{{each {}}}}}{}{{{{end}}}}".format, PATHS, inner)
    )


TEMPLATES = st.recursive(
    TEXTS
    | st.builds("{{{{{}}}}}".format, EXPRESSIONS)
    | st.builds("{{{{{{ {} }}}}}}".format, EXPRESSIONS),
    _blocks,
    max_leaves=10,
)
SHARDS = st.lists(
    st.sampled_from(
        ["{{", "}}", "{{{", "}}}", "if ", "each ", "else", "elseif ", "end", "then", "a", "l",
         "(", ")", "[", "]", ".", "'", '"', "\\", "1", "-", "#", "==", "or", "not", "\n", " ", "<",
         "http://", "loop_vars", "empty(", "render_snippet('a')", "opening_double_curly()",
         '<template type="amp-mustache">', "</template>", "\ud800", "\x00"],
    ) | st.characters(),
    max_size=30,
).map("".join)  # fmt: skip

modest = settings(max_examples=250, database=None)


def attempt(template: str, part: Any, data: dict[str, Any]) -> str | None:
    """Render; return the output, or None where the language refuses."""
    snippets = {"a": dict.fromkeys(("html", "amp_html", "text"), "s{{a}}{{loop_var}}")}
    dynamic = {"dynamic_html": {"a": "d{{each l}}{{loop_var}}{{end}}", "b": template}}
    try:
        compiled = compile_uncached(template, part)
        budget = Budget(steps=100_000, characters=100_000, seconds=1)
        return compiled.render(data, snippets=snippets.get, dynamic=dynamic, budget=budget)
    except TemplateError as error:
        refusal = error
    assert 1 <= refusal.line <= template.count("\n") + 1
    assert refusal.as_dict()["description"] == str(refusal)
    return None


# A NUL leaves no template
PRINTABLE = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=40)


@modest
@given(TEMPLATES, PARTS, DATA)
def test_templates_made_by_the_grammar_render_or_fault(
    template: str, part: Any, data: dict[str, Any]
) -> None:
    output = attempt(template, part, data)
    assert output is None or type(output) is str


LOOSENESS = {"or": 6, "and": 5, **dict.fromkeys(("==", "<"), 4), "+": 3, "-": 3, "*": 2, "/": 2}
UNARY = {"not ": 1, "- ": 1, "#": 1}
TREES = st.recursive(
    st.sampled_from(["1", "2", "a", "b", "l", "nil", "false"]),
    lambda inner: (
        st.tuples(inner, st.sampled_from(sorted(LOOSENESS)), inner)
        | st.tuples(st.sampled_from(sorted(UNARY)), inner)
    ),
    max_leaves=6,
)


def spell(tree: Any, *, brackets: bool, loosest: int = 6) -> str:
    """Write a tree down, with all brackets or with those that binding makes necessary."""
    if isinstance(tree, str):
        return tree
    if len(tree) == 2:
        operator, operand = tree
        own, text = 1, operator + spell(operand, brackets=brackets, loosest=1)
    else:
        left, operator, right = tree
        own = LOOSENESS[operator]
        first = spell(left, brackets=brackets, loosest=own)
        text = f"{first} {operator} {spell(right, brackets=brackets, loosest=own - 1)}"
    return f"({text})" if brackets or own > loosest else text


@modest
@given(TREES, DATA)
def test_an_expression_means_the_same_with_the_brackets_it_could_have(
    tree: Any, data: dict[str, Any]
) -> None:
    bare, full = (
        attempt("{{" + spell(tree, brackets=brackets) + "}}", TEXT, {**data, "b": 3, "l": [1]})
        for brackets in (False, True)
    )
    assert bare == full


@modest
@given(SHARDS, PARTS, DATA)
def test_templates_of_random_fragments_render_or_fault(
    template: str, part: Any, data: dict[str, Any]
) -> None:
    attempt(template, part, data)


@modest
@given(PRINTABLE, PARTS)
def test_text_without_double_braces_is_returned_unchanged(text: str, part: Any) -> None:
    text = text.replace("{{", "{ {").replace("{{", "")
    assert attempt(text, part, {}) == text


@modest
@given(st.text())
def test_an_escaped_value_cannot_leave_its_place(value: str) -> None:
    output = attempt("{{a}}", HTML, {"a": value})
    assert output is not None
    assert not set(output) & set("<>\"'/")
    link = attempt("http://{{a}}", TEXT, {"a": value})
    assert link is not None
    assert link.isascii()
    assert not set(link[7:]) & set(" \n<>\"'/?#&=:@")


@modest
@given(st.lists(st.integers(-(10**14) + 1, 10**14 - 1) | PRINTABLE, max_size=6))
def test_a_loop_prints_each_element_once_in_order(items: list[Any]) -> None:
    output = attempt("{{each l}}{{loop_index}}={{{loop_var}}};{{end}}", HTML, {"l": items})
    assert output == "".join(f"{index}={item};" for index, item in enumerate(items, 1))
