"""Make a page of the console of a document, which is then read where it is needed.

Links to other documents become plain text: the console has only this one.
"""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>{title} · Postfinch</title>
<link rel="icon" href="icon.svg" type="image/svg+xml">
<script src="theme.js"></script>
<link rel="stylesheet" href="styles/tokens.css">
<link rel="stylesheet" href="styles/base.css">
<link rel="stylesheet" href="styles/document.css">
</head>
<body>
<main class="document">
{body}</main>
</body>
</html>
"""
#: The words before an example's parts, by the kind of its fence
_LABELS = {
    "template": "Template",
    "data": "Data",
    "snippet": "Snippet",
    "output": "Output",
    "error": "Error",
}


def console_page(markdown: str) -> str:
    """Return the HTML of a Markdown document; its first line is the title."""
    title = markdown.partition("\n")[0].removeprefix("# ")
    parser = MarkdownIt("commonmark").enable("table")
    parser.add_render_rule("fence", _fence)
    tokens = parser.parse(markdown)
    for token in tokens:
        token.children = token.children and _without_local_links(token.children)
    body = parser.renderer.render(tokens, parser.options, {})
    return _PAGE.format(title=escape(title), body=body)


def _fence(
    _: Any, tokens: Sequence[Token], index: int, options: Any, env: MutableMapping[str, Any]
) -> str:
    kind, _, name = tokens[index].info.partition(" ")
    label = " ".join(filter(None, (_LABELS.get(kind, kind), name.replace("_", " "))))
    code = escape(tokens[index].content, quote=False)
    return (
        f'<div class="example {escape(kind)}"><p class="faint">{escape(label)}</p>'
        f"<pre><code>{code}</code></pre></div>\n"
    )


def _without_local_links(tokens: Sequence[Token]) -> list[Token]:
    remaining: list[Token] = []
    is_open = False
    for token in tokens:
        if token.type == "link_open":
            is_open = "://" in str(token.attrGet("href"))
        if is_open or token.type not in ("link_open", "link_close"):
            remaining.append(token)
    return remaining
