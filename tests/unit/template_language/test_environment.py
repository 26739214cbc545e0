"""Nothing of Python or Jinja2 shows through."""

from __future__ import annotations

from typing import Any

import pytest
from jinja2.exceptions import SecurityError

from chalicelib.template_language import TemplateSyntaxError
from chalicelib.template_language.environment import ENVIRONMENT

from .rendering import render, render_fault

DATA: dict[str, Any] = {"o": {"k": 1}, "l": ["a"], "s": "text", "n": 1, "f": 1.5, "b": True}
ATTRIBUTES = [
    "items", "keys", "get", "pop", "append", "upper", "format", "join", "real", "imag",
    "__class__", "__init__", "__dict__", "__globals__", "__mro__", "mro", "__subclasses__", "_run",
]  # fmt: skip


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_no_attribute_of_an_object_or_array_is_reached(name: str) -> None:
    for value in ("o", "l"):
        assert render("{{" + f"{value}.{name}" + "}}", DATA) == ""
        assert render("{{" + f"{value}['{name}']" + "}}", DATA) == ""
        assert render("{{" + f"{value}[k]" + "}}", {**DATA, "k": name}) == ""


@pytest.mark.parametrize("name", ATTRIBUTES)
@pytest.mark.parametrize("value", ["s", "n", "f", "b"])
def test_no_attribute_of_anything_else_is_reached(name: str, value: str) -> None:
    assert "attempt to index" in render_fault("{{" + f"{value}.{name}" + "}}", DATA)


def test_keys_named_like_methods_are_keys() -> None:
    assert render("{{o.items}}{{o.get}}", {"o": {"items": "I", "get": "G"}}) == "IG"


@pytest.mark.parametrize(
    "name",
    ["range", "dict", "lipsum", "cycler", "joiner", "namespace", "environment", "context", "self",
     "resolve", "undefined", "concat", "missing", "t_1", "open", "print", "__builtins__", "blocks"],
)  # fmt: skip
def test_only_names_of_the_data_exist(name: str) -> None:
    assert render("[{{" + name + "}}]") == "[]"


@pytest.mark.parametrize(
    "template",
    ["{{ range(10) }}", "{{ o.keys() }}", "{{ 'a'.upper() }}", "{{ s|upper }}", "{{ [1, 2] }}",
     "{{ {'a': 1} }}", "{{ 2 ** 99 }}", "{{ 'a' % 1 }}", "{{ 'a' ~ 'b' }}", "{{ a if b else c }}",
     "{{ a is defined }}", "{{ lambda: 1 }}", "{{ l[0:1] }}", "{{ 7 // 2 }}", "{{ o.__class__() }}",
     "{{ a := 1 }}", "{{ 'a' 'b' }}", "{{ 1 if 1 }}", "{{ loop.cycle() }}", "{{ a, b }}"],
)  # fmt: skip
def test_syntax_of_jinja_and_python_is_refused(template: str) -> None:
    with pytest.raises(TemplateSyntaxError):
        render(template, DATA)


def test_text_that_is_syntax_in_other_languages_is_text() -> None:
    text = "{% for x in y %} {# note #} ${x} <%= 1 %> {%endraw%} %s {0} \\n ''' \"\"\" \\"
    assert render(text + "{{n}}", DATA) == text + "1"


def test_values_are_only_data_to_the_generated_code() -> None:
    nasty = "'\"\\\n\r\u2028\ud800'''\"\"\"{}%s\x01"
    assert render("{{{v}}}" + nasty + "{{{o['x']}}}", {"v": nasty, "o": {"x": nasty}}) == nasty * 3


def test_strings_can_be_built_only_by_printing() -> None:
    assert "arithmetic" in render_fault("{{s * 9}}", DATA)
    assert "arithmetic" in render_fault("{{s + s}}", DATA)
    assert "arithmetic" in render_fault("{{l * 9}}", DATA)


def test_the_environment_has_no_globals_filters_or_tests_of_jinja2() -> None:
    assert ENVIRONMENT.globals == {}
    assert not ENVIRONMENT.optimized
    with pytest.raises(SecurityError):
        ENVIRONMENT.call(len, [])
    assert ENVIRONMENT.getattr({"a": 1}, "keys") is None
