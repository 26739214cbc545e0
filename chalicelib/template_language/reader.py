"""Read the tokens of one tag in order."""

from __future__ import annotations

from .errors import Fault, near
from .lexer import Token


class TokenReader:
    """The tokens of a tag and the ``position`` of the next one; faults carry their line."""

    def __init__(self, tokens: list[Token], position: int = 0) -> None:
        self.tokens = tokens
        self.position = position

    @property
    def token(self) -> Token:
        """The next token."""
        return self.tokens[self.position]

    def accept(self, text: str) -> bool:
        """Consume the next token if it is the symbol or keyword ``text``; tell whether it was."""
        matches = self.at(text)
        self.position += matches
        return matches

    def at(self, *texts: str) -> bool:
        """Tell whether the next token is one of these symbols or keywords."""
        return self.token.text in texts and self.token.kind in ("symbol", "keyword")

    def expect(self, text: str) -> None:
        """Consume the symbol or keyword ``text``, or raise Fault."""
        if not self.accept(text):
            raise self.unexpected()

    def finish(self, *, then: bool = False) -> None:
        """Raise Fault unless the tag ends here; a `then` may come first."""
        if then:
            self.accept("then")
        if self.token.kind != "end":
            raise self.unexpected()

    def unexpected(self) -> Fault:
        """Return the fault for an unexpected next token."""
        return Fault(near(self.token.text), self.token.line, self.token.span)
