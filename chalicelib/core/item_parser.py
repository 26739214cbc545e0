"""Parse the items in DynamoDB's responses as botocore does, in a third of its time.

botocore looks up the ten types that an attribute may have for each attribute. Here the one type
that is present is looked at. Everything else is parsed by botocore.
"""

from __future__ import annotations

from base64 import b64decode
from typing import Any

from botocore import parsers

from chalicelib.core.json_types import Json

# Their types lack what is replaced here.
_JSONParser: Any = parsers.JSONParser
_Factory: Any = parsers.ResponseParserFactory


class ItemParserFactory(_Factory):
    """A component of botocore's session, named ``response_parser_factory``."""

    def __init__(self) -> None:
        super().__init__()
        self._options: dict[str, Any] = {}

    def set_parser_defaults(self, **options: Any) -> None:
        """Set what every parser is made with."""
        super().set_parser_defaults(**options)
        self._options.update(options)

    def create_parser(self, protocol_name: str) -> Any:
        """Return the parser of a protocol."""
        if protocol_name == "json":
            return _ItemParser(**self._options)
        return super().create_parser(protocol_name)


class _ItemParser(_JSONParser):
    # A botocore that calls it otherwise parses items by itself
    def _handle_map(self, shape: Any, value: dict[str, Any]) -> Any:
        if shape.value.name == "AttributeValue":
            return {name: attribute_of(attribute) for name, attribute in value.items()}
        return super()._handle_map(shape, value)


def attribute_of(value: Json) -> Json:
    """Return an attribute of a JSON response in the form in which botocore returns it."""
    ((kind, content),) = value.items()
    if kind == "B":
        return {"B": b64decode(content)}
    if kind == "M":
        return {"M": {name: attribute_of(each) for name, each in content.items()}}
    if kind == "L":
        return {"L": [attribute_of(each) for each in content]}
    if kind == "BS":
        return {"BS": [b64decode(each) for each in content]}
    return value
