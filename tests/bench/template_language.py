"""Compare rendering and compiling a newsletter in the template language and in plain Jinja2.

The newsletter has 20 KB, 25 links and a loop over 20 items. Plain Jinja2 runs the same template
in its own syntax, compiled, in `ImmutableSandboxedEnvironment`: once with autoescape and with
`urlencode` in the links, which is the same work, and once without any escaping.

Figures are processor time: the median of rounds in which the tasks alternate. Run with
`python -m tests.bench.template_language`.
"""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import process_time
from typing import Any

from jinja2.sandbox import ImmutableSandboxedEnvironment

from chalicelib.template_language import HTML, CompiledPart, compile_part, merge_data
from chalicelib.template_language.compiled import compile_uncached

SLOWEST_SHARE = 0.5
SLOWEST_COMPILE = 15.0
ROUNDS = 15
RENDERS = 200
LINKS = 25
ITEMS = 20
SIZE = 20_000

_HEAD = """<!doctype html>
<html><head><title>{{subject}}</title></head>
<body style="margin:0;font-family:Helvetica,Arial,sans-serif">
<h1>Hello {{name or 'friend'}}</h1>
{{if member then}}
<p>You have {{points}} points, {{name}}.</p>
{{else}}
<p>Join us in {{address.city}} today.</p>
{{end}}
<table>
{{each products}}
<tr style="border-bottom:1px solid #eeeeee">
  <td>{{loop_index}}. <b>{{loop_var.name}}</b></td>
  <td>{{loop_var.price}} {{currency}}</td>
  {{if loop_var.stock > 5}}
  <td>in stock</td>
  {{else}}
  <td>only {{loop_var.stock}} left</td>
  {{end}}
  <td><a href="https://shop.example.test/p/{{loop_var.id}}?ref={{campaign}}">Buy</a></td>
</tr>
{{end}}
</table>
"""
_LINK = (
    '<p style="line-height:1.5">Story {n}: words about the story that a reader may like. '
    '<a href="https://news.example.test/s/{n}?u={{{{user_id}}}}&c={{{{campaign}}}}">Read it, '
    "{{{{name}}}}</a></p>\n"
)
_FILLER = "<p>Plain words without any substitution, as most of a newsletter is made of them.</p>\n"


def newsletter() -> str:
    """Return the template in the service's language."""
    links = "".join(_LINK.format(n=number) for number in range(LINKS))
    body = _HEAD + links
    return body + _FILLER * ((SIZE - len(body)) // len(_FILLER)) + "</body></html>\n"


def jinja_newsletter(*, escaping: bool) -> str:
    """Return the same template in Jinja2's syntax, with or without escaping."""
    encode = "|urlencode" if escaping else ""
    source = newsletter()
    for ours, theirs in (
        ("{{if member then}}\n", "{% if member %}"),
        ("{{if loop_var.stock > 5}}\n", "{% if item.stock > 5 %}"),
        ("{{each products}}\n", "{% for item in products %}"),
        ("{{end}}\n</table>", "{% endfor %}</table>"),
        ("{{else}}\n", "{% else %}"),
        ("{{end}}\n", "{% endif %}"),
        ("loop_index", "loop.index"),
        ("loop_var", "item"),
        (
            "/p/{{item.id}}?ref={{campaign}}",
            f"/p/{{{{item.id{encode}}}}}?ref={{{{campaign{encode}}}}}",
        ),
        ("?u={{user_id}}&c={{campaign}}", f"?u={{{{user_id{encode}}}}}&c={{{{campaign{encode}}}}}"),
    ):
        source = source.replace(ours, theirs)
    return source


def data() -> dict[str, Any]:
    """Return one recipient's merged data."""
    products = [
        {"name": f"Tea & cake <{n}>", "price": 4.5 + n, "stock": n, "id": f"sku {n}"}
        for n in range(ITEMS)
    ]
    return merge_data(
        transmission_data={"subject": "News", "currency": "EUR", "campaign": "spring sale"},
        recipient_data={
            "name": "Ann O'Neil",
            "member": True,
            "points": 120,
            "user_id": "u-1",
            "products": products,
        },
        address={"email": "ann@example.test", "name": "Ann"},
        env_from="bounces@example.test",
    )


def main() -> None:
    """Measure and print the figures."""
    values = data()
    ours = compile_part(newsletter(), HTML)
    escaping = ImmutableSandboxedEnvironment(autoescape=True)
    printing = ImmutableSandboxedEnvironment(autoescape=False)
    with_escaping = escaping.from_string(jinja_newsletter(escaping=True))
    without_escaping = printing.from_string(jinja_newsletter(escaping=False))
    print(f"template {len(newsletter())} characters, output {len(ours.render(values))}")
    micros = _medians(
        [lambda part=part: part.render(values) for part in (ours, with_escaping, without_escaping)],
        RENDERS,
    )
    print(f"render, ours:                    {micros[0]:8.1f} us  {1e6 / micros[0]:7.0f} per s")
    for name, micro in (("escaping", micros[1]), ("unescaped", micros[2])):
        share = micro / micros[0]
        print(
            f"render, plain Jinja2 ({name}):".ljust(33)
            + f"{micro:8.1f} us  {1e6 / micro:7.0f} per s; ours is {share:.2f} times as fast "
            + _verdict(share >= SLOWEST_SHARE, f"at least {SLOWEST_SHARE}")
        )
    compiles = _medians([lambda: _compile(newsletter()), lambda: _jinja_compile(escaping)], 1)
    verdict = _verdict(compiles[0] / 1000 < SLOWEST_COMPILE, f"under {SLOWEST_COMPILE} ms")
    print(f"compile, ours:                   {compiles[0] / 1000:8.2f} ms {verdict}")
    print(f"compile, plain Jinja2:           {compiles[1] / 1000:8.2f} ms")


def _verdict(holds: bool, bar: str) -> str:
    return f"[{'holds' if holds else 'FAILS'}: {bar}]"


def _compile(source: str) -> CompiledPart:
    return compile_uncached(source, HTML)


def _jinja_compile(environment: ImmutableSandboxedEnvironment) -> object:
    return environment.compile(jinja_newsletter(escaping=True))


def _medians(tasks: list[Callable[[], object]], repeats: int) -> list[float]:
    """Return the median processor time of one call of each, in microseconds."""
    times: list[list[float]] = [[] for _ in tasks]
    for _ in range(ROUNDS):
        for number, task in enumerate(tasks):
            started = process_time()
            for _ in range(repeats):
                task()
            times[number].append((process_time() - started) / repeats * 1e6)
    return [median(each) for each in times]


if __name__ == "__main__":
    main()
