"""List the keywords of the language and the names that the service sets."""

from __future__ import annotations

KEYWORDS = frozenset(
    {
        "and",
        "break",
        "do",
        "each",
        "else",
        "elseif",
        "end",
        "false",
        "for",
        "function",
        "if",
        "in",
        "local",
        "nil",
        "not",
        "or",
        "repeat",
        "return",
        "then",
        "true",
        "until",
        "while",
    }
)
"""Words that are never a variable, whether or not the language gives them a meaning."""

AUTOMATIC = frozenset({"address", "email", "email_id", "env_from", "return_path"})
"""Variables that come from the recipient and the envelope, never from substitution data."""

LOOP_VARIABLES = frozenset({"loop_index", "loop_var", "loop_vars"})
"""Variables that loops set; a snippet may name those of the loop around it."""

RESERVED = KEYWORDS | AUTOMATIC
"""Names that may not be top-level keys of substitution data or metadata."""

STATEMENTS = frozenset({"if", "elseif", "else", "each", "end"})
"""First words that make a tag a statement, which prints nothing."""

DYNAMIC = frozenset({"dynamic_html", "dynamic_plain", "dynamic_amp_html"})
"""Objects whose values `render_dynamic_content` may run."""

CURLIES = {
    "opening_single_curly": "{",
    "closing_single_curly": "}",
    "opening_double_curly": "{{",
    "closing_double_curly": "}}",
    "opening_triple_curly": "{{{",
    "closing_triple_curly": "}}}",
}
"""Macros without arguments that print braces."""
