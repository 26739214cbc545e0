"""How many examples the properties of messages run, and the text they are made of.

`EXAMPLES_FACTOR=20 pytest tests/unit/generation tests/unit/sending_domains` runs thousands.
"""

import os

from hypothesis import settings
from hypothesis import strategies as st

_FACTOR = int(os.environ.get("EXAMPLES_FACTOR", "1"))


def examples(count: int) -> settings:
    """Return settings for a property tried `count` times the factor."""
    return settings(max_examples=count * _FACTOR)


ONE_LINE = st.one_of(
    st.text(st.characters(exclude_categories=("Cc", "Cs")), max_size=120),
    st.lists(
        st.sampled_from(
            ["a", "word", " ", "  ", "é", "日本", "🙂", "=?", "?=", "_", '"', ",", "x" * 60]
        ),
        max_size=60,
    ).map("".join),
)

BODY = st.one_of(
    st.text(st.characters(exclude_categories=("Cs",)), max_size=300),
    st.lists(
        st.sampled_from(
            [
                "word ",
                " ",
                "\t",
                "\n",
                "\r\n",
                "\r",
                "=",
                ".",
                "\n.\n",
                "é",
                "日本語",
                "\0",
                "--=_",
                "x" * 73,
                "x" * 74,
                "y" * 997,
                "From ",
            ]
        ),
        max_size=60,
    ).map("".join),
)
