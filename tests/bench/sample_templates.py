"""Build a newsletter and a notice as templates, in the service's language and in Jinja2.

The newsletter has 20 KB of html with 25 links and 5 KB of text; the notice is 1 KB in all.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from tests.bench.sample_messages import WORDS

LINKS = 25
_SHOP = "https://shop.example.com"


@dataclass(frozen=True, slots=True)
class Language:
    """The syntax of the statements in a template language."""

    condition: str
    otherwise: str
    end: str
    loop: str
    item: str
    loop_end: str


OURS = Language(
    "{{if vip}}", "{{else}}", "{{end}}", "{{each basket}}", "{{loop_var.name}}", "{{end}}"
)
JINJA = Language(
    "{% if vip %}",
    "{% else %}",
    "{% endif %}",
    "{% for item in basket %}",
    "{{ item.name }}",
    "{% endfor %}",
)


@dataclass(frozen=True, slots=True)
class Templates:
    """The templates of one message."""

    subject: str
    html: str
    text: str


def newsletter(language: Language, *, own_links: bool = False) -> Templates:
    """Return the newsletter; with ``own_links`` every link differs for each recipient."""
    rng = random.Random(1)
    own = "&amp;reader={{id}}" if own_links else ""
    html = [
        '<!DOCTYPE html>\n<html><head><title>News</title></head>\n<body bgcolor="#ffffff">\n',
        f"<h1>Dear {{{{name}}}}</h1>\n{_greeting(language)}\n",
    ]
    text = [f"Dear {{{{name}}}}\n{_greeting(language)}\n"]
    for number in range(LINKS - 1):
        path = f"{_SHOP}/products/{number}?utm_source=newsletter"
        html.append('<table width="100%" cellpadding="0"><tr><td align="left" class="cell">\n')
        for _ in range(5):
            words = " ".join(rng.choices(WORDS, k=12))
            html.append(f'  <p class="item" style="margin: 0 0 1em">{words}</p>\n')
        html.append(f'  <a class="button" href="{path}&amp;utm_medium=email{own}">Look</a>\n')
        html.append("</td></tr></table>\n")
        text.append(f"{' '.join(rng.choices(WORDS, k=14))}\n{path}&utm_medium=email\n\n")
    html.append(f'<p>é <a href="{_SHOP}/settings?reader={{{{id}}}}">Settings</a></p>\n')
    text.append(f"é Settings: {_SHOP}/settings?reader={{{{id}}}}\n")
    return Templates("News for {{name}}", "".join([*html, "</body></html>\n"]), "".join(text))


def notice(language: Language) -> Templates:
    """Return the templates of the notice."""
    rng = random.Random(2)
    words = " ".join(rng.choices(WORDS, k=60))
    html = (
        f"<p>Dear {{{{name}}}},</p><p>{words}</p>{_greeting(language)}"
        f'<p><a href="{_SHOP}/orders/{{{{id}}}}">Your order</a></p>\n'
    )
    text = f"Dear {{{{name}}}},\n{words[:150]}\n{_SHOP}/orders/{{{{id}}}}\n"
    return Templates("Your order {{id}}", html, text)


def recipient(index: int) -> dict[str, Any]:
    """Return a recipient in its stored form, with the data that the templates use."""
    data = {
        "name": f"Ann {index}",
        "id": index,
        "vip": index % 2 == 0,
        "basket": [{"name": f"chair {index}"}, {"name": "lamp"}, {"name": "book"}],
    }
    return {"email": f"reader-{index}@inbox.example", "substitution_data": data}


def _greeting(language: Language) -> str:
    loop = f"{language.loop}<i>{language.item}</i> {language.loop_end}"
    return f"{language.condition}Our best offer: {loop}{language.otherwise}Hello.{language.end}"
