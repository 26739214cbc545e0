"""Going through the tokens of one tag."""

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
        """Take the next token if it is the symbol or keyword ``text``."""
        found = self.at(text)
        self.position += found
        return found

    def at(self, *texts: str) -> bool:
        """Return whether the next token is one of these symbols or keywords."""
        return self.token.text in texts and self.token.kind in ("symbol", "keyword")

    def expect(self, text: str) -> None:
        """Take the symbol or keyword ``text``, or raise Fault."""
        if not self.accept(text):
            raise self.unexpected()

    def finish(self, *, then: bool = False) -> None:
        """Raise Fault unless the tag ends here, perhaps after a `then`."""
        if then:
            self.accept("then")
        if self.token.kind != "end":
            raise self.unexpected()

    def unexpected(self) -> Fault:
        """Return the fault that the next token does not belong here."""
        return Fault(near(self.token.text), self.token.line)
