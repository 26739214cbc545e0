from __future__ import annotations

import gc
import inspect
import subprocess
import sys
import threading
import weakref

import pytest

from chalicelib.template_language import (
    HTML,
    TEXT,
    TemplateRenderError,
    TemplateSyntaxError,
    compile_part,
    compile_snippet,
    compiled,
    header,
)

from .rendering import render


def test_a_part_is_compiled_once() -> None:
    source = "only once {{n}}"
    assert compile_part(source, HTML) is compile_part(source, HTML)
    assert compile_part(source, TEXT) is not compile_part(source, HTML)
    assert compile_snippet(source, HTML) is not compile_part(source, HTML)
    assert compile_part(source, header("A")) is not compile_part(source, header("B"))


def test_a_part_that_left_the_cache_is_gone_without_a_search_for_cycles() -> None:
    gc.disable()
    try:
        part = compiled.compile_uncached("Dear {{name}}", HTML)
        template = weakref.ref(part._template)
        del part
        assert template() is None
    finally:
        gc.enable()


def test_a_part_with_many_tags_counts_as_the_code_that_it_is() -> None:
    plain, tagged = "<p>Dear friend, hello</p>" * 1000, "<p>Dear {{name}}, hello</p>" * 1000
    assert len(plain) <= compiled.compile_uncached(plain, HTML).memory() < 2 * len(plain)
    part = compiled.compile_uncached(tagged, HTML)
    assert part.memory() > 2 * len(tagged)


def test_parts_of_any_kind_stay_within_the_bytes_of_the_cache(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(compiled._CACHE, "_most_bytes", compiled.CACHED_BYTES // 10)
    for number in range(12):
        compile_part(f"{number}" + "{{a}}b" * 1_400, HTML)
    assert 0 < compiled._CACHE._size <= compiled.CACHED_BYTES // 10


@pytest.mark.parametrize("source", ["", "plain", "a { b } }} c", "[[x]] {%if%} {#c#} ${x}"])
def test_a_source_without_tags_is_static_and_is_returned_unchanged(source: str) -> None:
    part = compile_part(source, HTML)
    assert part.is_static
    assert part.render({}) == source
    assert not compile_part(source + "{{n}}", HTML).is_static


@pytest.mark.parametrize(
    ("template", "line"),
    [
        ("{{1/0}}", 1),
        ("a\n\nb {{n}}\n c {{n}} {{1/0}}", 4),
        ("{{if n}}\n{{n}}\n{{elseif 1/0}}\n{{end}}", 3),
        ("{{if m}}\n{{n}}\n{{else}}\n{{n}}\n{{1/0}}{{end}}", 5),
        ("\n{{if 1/0}}x{{end}}", 2),
        ("\n{{each 'x'}}\n{{end}}", 2),
        ("\n{{each l}}\n\n{{loop_var / 0}}\n{{end}}", 4),
        ("x\n{{n}} {{render_snippet('s')}}", 2),
        ("{{n}}\n{{\n1\n/0}}", 2),
    ],
)
def test_a_render_error_has_its_line(template: str, line: int) -> None:
    data = {"l": [1]}
    with pytest.raises(TemplateRenderError) as error_info:
        render(template, data, snippets={"s": {"html": "\n\n\n{{1/0}}"}}.get)
    assert error_info.value.line == line


def test_a_render_error_is_a_3001() -> None:
    with pytest.raises(TemplateRenderError) as error_info:
        render("{{a > 1}}", {}, header("Subject"))
    assert error_info.value.as_dict() == {
        "message": "substitution render error",
        "code": "3001",
        "description": "Error while rendering header Subject: line 1: "
        "substitution value 'a' did not exist or was null",
        "part": "Header:Subject",
        "line": 1,
    }
    assert str(error_info.value) == error_info.value.description


def test_data_is_read_only_and_needs_no_copy() -> None:
    data = {"n": 1, "l": [{"x": 1}], "loop_var": "mine"}
    assert render("{{each l}}{{loop_var.x}}{{end}}{{loop_var}}", data) == "1mine"
    assert data == {"n": 1, "l": [{"x": 1}], "loop_var": "mine"}


def test_one_compiled_part_serves_many_threads() -> None:
    part = compile_part("{{each l}}{{loop_var}}{{if n > 2}}{{n}}{{end}},{{end}}", HTML)
    outputs: dict[int, set[str]] = {}

    def work(n: int) -> None:
        outputs[n] = {part.render({"l": [n] * 50, "n": n}) for _ in range(50)}

    threads = [threading.Thread(target=work, args=(n,)) for n in (1, 2, 3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outputs == {n: {(f"{n}{n}," if n > 2 else f"{n},") * 50} for n in (1, 2, 3, 4)}


def test_a_template_too_deep_for_this_stack_is_a_syntax_error() -> None:
    template = "{{if a}}" * 25 + "{{" + "(" * 18 + "a" + ")" * 18 + "}}" + "{{end}}" * 25

    def compile_under(frames: int) -> None:
        if frames:
            compile_under(frames - 1)
        else:
            compiled.compile_uncached(template, HTML)

    free = sys.getrecursionlimit() - len(inspect.stack(0))
    compile_under(free - 500)
    with pytest.raises(TemplateSyntaxError, match="too complex"):
        compile_under(free - 100)


def test_importing_the_package_brings_in_jinja2_and_little_else() -> None:
    code = (
        "import sys, dataclasses, jinja2.sandbox; before = set(sys.modules);"
        "import chalicelib.template_language;"
        "new = {n for n in set(sys.modules) - before if sys.modules[n]};"
        "print(sorted({n.split('.')[0] for n in new}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['chalicelib', 'gc']"
