"""Show and change the rules by which the sink fails on purpose, under ``/local/failures``."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, ValidationError

from chalicelib.core.fields import Body
from infrastructure.local.gateway.local_api import (
    LocalError,
    LocalReply,
    LocalRequest,
    LocalRoute,
    NoSuchThing,
    results,
)
from infrastructure.local.sink.failure_rules import CONNECT, MOST_RULES, FailureRule, FailureRules

PREFIX = "/local/failures"
LONGEST_DELAY = 600

_TEXTS = {421: "4.3.2 Service not available, try again later", 4: "4.3.0 Temporary failure"}
_REFUSED = "5.7.1 Refused"


class RuleBody(Body):
    """The body of a rule. ``text`` follows the code; without it, a usual one does."""

    model_config = ConfigDict(extra="forbid")

    pattern: Annotated[str, Field(min_length=1, max_length=320, pattern=r"^[^\s]+$")] = "*"
    step: Literal["connect", "mail", "rcpt", "data", "dot"] = "rcpt"
    code: Annotated[int, Field(ge=400, le=599)] | Literal[250] | None = 451
    text: Annotated[str, Field(max_length=400, pattern=r"^[ -~]*$")] = ""
    delay: Annotated[float, Field(ge=0, le=LONGEST_DELAY)] = 0.0
    times: Annotated[int, Field(ge=1)] | None = None
    percent: Annotated[int, Field(ge=1, le=100)] = 100
    enabled: bool = True


class FailuresEndpoint:
    """The operations of ``/local/failures``."""

    def __init__(self, rules: FailureRules) -> None:
        self._rules = rules

    def routes(self) -> list[LocalRoute]:
        """Return the routes."""
        one = f"{PREFIX}/{{id}}"
        return [
            LocalRoute("GET", PREFIX, self.list_rules),
            LocalRoute("POST", PREFIX, self.add),
            LocalRoute("DELETE", PREFIX, self.delete_all),
            LocalRoute("GET", one, self.show),
            LocalRoute("PUT", one, self.change),
            LocalRoute("DELETE", one, self.delete),
        ]

    def list_rules(self, request: LocalRequest) -> LocalReply:
        """List the rules; the first one that matches applies."""
        return results([_view(rule) for rule in self._rules.all()])

    def add(self, request: LocalRequest) -> LocalReply:
        """Add a rule."""
        if len(self._rules.all()) >= MOST_RULES:
            raise LocalError(409, f"there are {MOST_RULES} rules already")
        body = request.json()
        if "pattern" not in body and body.get("step") != CONNECT:
            raise LocalError(400, "pattern is required; * stands for every address")
        rule = FailureRule(id=0, **_fields(body))
        return results(_view(self._rules.add(rule)), 201)

    def show(self, request: LocalRequest) -> LocalReply:
        """Show a rule."""
        return results(_view(self._rule(request)))

    def change(self, request: LocalRequest) -> LocalReply:
        """Change fields of a rule; it begins to count anew."""
        rule = self._rule(request)
        present = {name: value for name, value in _view(rule).items() if name not in _OWN}
        changed = replace(rule, **_fields(present | request.json()), applied=0)
        self._rules.replace(changed)
        return results(_view(changed))

    def delete(self, request: LocalRequest) -> LocalReply:
        """Delete a rule."""
        return results({"deleted": self._rules.delete(self._rule(request).id)})

    def delete_all(self, request: LocalRequest) -> LocalReply:
        """Delete all rules."""
        return results({"deleted": self._rules.delete()})

    def _rule(self, request: LocalRequest) -> FailureRule:
        digits = request.parameters["id"]
        is_number = digits.isascii() and digits.isdigit() and len(digits) < 18
        rule = self._rules.get(int(digits)) if is_number else None
        if rule is None:
            raise NoSuchThing
        return rule


_OWN = ("id", "applied")


def _fields(body: dict[str, Any]) -> dict[str, Any]:
    try:
        fields = RuleBody(**body).model_dump()
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(each) for each in first["loc"][:1])
        raise LocalError(400, f"{place}: {first['msg']}") from None
    except TypeError:
        raise LocalError(400, "the names of fields must be texts") from None
    if fields["step"] == CONNECT and fields["pattern"] != "*":
        raise LocalError(400, "pattern: at connect no address is known, so it must be *")
    code = fields["code"] or 0
    fields["text"] = fields["text"] or _TEXTS.get(code) or _TEXTS.get(code // 100) or _REFUSED
    return fields


def _view(rule: FailureRule) -> dict[str, Any]:
    return asdict(rule)
