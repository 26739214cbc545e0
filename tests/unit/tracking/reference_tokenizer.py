"""The tokenizer of HTML, state by state as WHATWG 13.2.5 writes it down, to judge ours by.

Only what decides where tags are: one character at a time, slow and plain.
"""

from __future__ import annotations

BLANKS = "\t\n\f\r "
TEXT_ELEMENTS = {"script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"}

Attributes = list[tuple[str, str]]


class Reference:
    """Reads markup; ``tags`` holds name, start, end and attributes of every tag."""

    def __init__(self, markup: str) -> None:
        self.markup = markup
        self.position = 0
        self.tags: list[tuple[str, int, int, Attributes]] = []
        self.is_finished = True
        self._read()

    def _next(self) -> str:
        character = self.markup[self.position : self.position + 1]
        self.position += 1
        return character

    def _at(self, text: str) -> bool:
        return self.markup.startswith(text, self.position)

    def _read(self) -> None:
        while self.position < len(self.markup):
            if self._next() != "<":
                continue
            start = self.position - 1
            follower = self.markup[self.position : self.position + 1]
            if follower == "/":
                self.position += 1
                follower = self.markup[self.position : self.position + 1]
                if follower.isascii() and follower.isalpha():
                    self._tag(start, "/")
                elif follower == ">":
                    self.position += 1
                elif not follower:
                    self.is_finished = False
                else:
                    self._bogus_comment()
            elif follower.isascii() and follower.isalpha():
                self._tag(start, "")
            elif self._at("!--"):
                self.position += 3
                self._comment()
            elif follower and follower in "!?":
                self._bogus_comment()

    def _bogus_comment(self) -> None:
        while (character := self._next()) != ">":
            if not character:
                self.is_finished = False
                return

    def _comment(self) -> None:
        for start in (">", "->"):
            if self._at(start):
                self.position += len(start)
                return
        while not (self._at("-->") or self._at("--!>")):
            if not self._next():
                self.is_finished = False
                return
        self.position += 3 if self._at("-->") else 4

    def _tag(self, start: int, prefix: str) -> None:
        name = ""
        while (character := self._next()) not in (*BLANKS, "/", ">", ""):
            name += character.lower()
        self.position -= 1
        attributes: Attributes = []
        while True:
            character = self._next()
            if not character:
                self.is_finished = False
                return
            if character == ">":
                break
            if character in BLANKS or character == "/":
                continue
            self.position -= 1
            attribute = self._attribute()
            if attribute is None:
                self.is_finished = False
                return
            attributes.append(attribute)
        self.tags.append((prefix + name, start, self.position, attributes))
        if not prefix and name in TEXT_ELEMENTS:
            self._text_element(name)

    def _attribute(self) -> tuple[str, str] | None:
        name = self._next()
        while (character := self._next()) not in (*BLANKS, "/", ">", "=", ""):
            name += character
        while character and character in BLANKS:
            character = self._next()
        if character != "=":
            self.position -= 1
            return (name.lower(), "") if character else None
        while (character := self._next()) and character in BLANKS:
            pass
        if character == ">":
            self.position -= 1
            return name.lower(), ""
        value = ""
        if character and character in "\"'":
            quote = character
            while (character := self._next()) != quote:
                if not character:
                    return None
                value += character
            return name.lower(), value
        while character not in (*BLANKS, ">", ""):
            value += character
            character = self._next()
        self.position -= 1
        return (name.lower(), value) if character else None

    def _text_element(self, name: str) -> None:
        while self.position < len(self.markup):
            end = self.position + 2 + len(name)
            if self.markup[self.position : end].lower() == f"</{name}" and self.markup[
                end : end + 1
            ] in (*BLANKS, "/", ">"):
                return
            self.position += 1
        self.is_finished = False
