"""Write the template that Chalice merges with its own into that of the whole deployment.

It consists of ``template.yaml`` (tables, queues and bucket), ``deployment.yaml`` (what surrounds
the functions), and what follows from the application: a role, a log group and sizes for each
function, partial failures for each queue's function, a parameter for each setting,
alarms and a dashboard.

Chalice merges by logical id. If one id named different things in both templates, the result would
be wrong; :func:`merge_template` raises ``ValueError`` instead.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import yaml

from chalicelib.core.json_types import Json
from infrastructure.deployment import (
    alarms,
    dashboard,
    function_resources,
    permissions,
    setting_parameters,
)
from infrastructure.deployment.functions import Function, FunctionKind

TEMPLATES = Path(__file__).resolve().parents[1]


# Messages of a queue become visible again after this many times its function's time-out, so that
# they stay hidden while Lambda has no capacity to call it (AWS, "Configuring a queue to use with
# Lambda").
_VISIBILITY_FACTOR = 6
# DynamoDB restores tables to any time in the last 35 days.
_RECOVERY_DAYS = 35


def merge_template(application: Iterable[Function]) -> Json:
    """Return the template to merge with Chalice's for the functions of ``application``."""
    functions = list(application)
    merged = read(TEMPLATES / "template.yaml")
    _merge(merged, read(TEMPLATES / "deployment.yaml"))
    for part in (
        setting_parameters.template_part(),
        *(function_resources.template_part(each, merged["Resources"]) for each in functions),
        _visibility(functions, merged["Resources"]),
        alarms.template_part(functions, merged["Resources"]),
        dashboard.template_part(functions, merged["Resources"]),
        _container("Relay", "The SMTP relay", permissions.relay_statements(merged["Resources"])),
        _container(
            "DeliveryContainer",
            "The delivery containers",
            permissions.delivery_container_statements(merged["Resources"]),
        ),
        _versions(merged["Resources"]),
    ):
        _merge(merged, part)
    _refuse_clashes(functions, merged)
    return merged


def read(path: Path) -> Json:
    """Read a template; short forms such as ``!Sub`` become ``Fn::Sub``."""
    template: Json = yaml.load(path.read_text(encoding="utf-8"), _LongForms)
    return template


class _LongForms(yaml.SafeLoader):
    """YAML with CloudFormation's short forms."""


def _long_form(loader: yaml.SafeLoader, name: str, node: yaml.Node) -> Json:
    key = name if name in ("Ref", "Condition") else f"Fn::{name}"
    if isinstance(node, yaml.ScalarNode):
        return {key: loader.construct_scalar(node)}
    assert isinstance(node, yaml.SequenceNode)
    return {key: loader.construct_sequence(node, deep=True)}


_LongForms.add_multi_constructor("!", _long_form)


def _merge(into: Json, other: Json) -> None:
    for key, value in other.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = value


def _visibility(functions: Iterable[Function], resources: Json) -> Json:
    """Return defaults of the queues' visibility time-outs that suffice for their functions."""
    needed: dict[str, int] = {}
    for function in functions:
        if function.kind is FunctionKind.QUEUE:
            queue = resources[function_resources.queue_id(function.queue, resources)]["Properties"]
            parameter = queue["VisibilityTimeout"]["Ref"]
            seconds = _VISIBILITY_FACTOR * function.size.timeout + function.window
            needed[parameter] = max(seconds, needed.get(parameter, 0))
    return {"Parameters": {name: {"Default": seconds} for name, seconds in needed.items()}}


def _versions(resources: Json) -> Json:
    """Return what keeps removed or replaced objects as long as tables can be restored."""
    rules = resources["Bucket"]["Properties"]["LifecycleConfiguration"]["Rules"]
    expiry = {
        "Id": "removed",
        "Status": "Enabled",
        "NoncurrentVersionExpiration": {"NoncurrentDays": _RECOVERY_DAYS},
        "ExpiredObjectDeleteMarker": True,
    }
    bucket = {
        "VersioningConfiguration": {"Status": "Enabled"},
        "LifecycleConfiguration": {"Rules": [*rules, expiry]},
    }
    return {"Resources": {"Bucket": {"Properties": bucket}}}


def _container(name: str, about: str, statements: list[Json]) -> Json:
    """Return the policy for the role that a container runs under, and the output that names it."""
    policy = {
        "Type": "AWS::IAM::ManagedPolicy",
        "Properties": {
            "Description": {"Fn::Sub": f"{about} of postfinch-${{Stage}}"},
            "PolicyDocument": {"Version": "2012-10-17", "Statement": statements},
        },
    }
    output = {"Description": f"For the role of: {about}", "Value": {"Ref": f"{name}Policy"}}
    return {"Resources": {f"{name}Policy": policy}, "Outputs": {f"{name}PolicyArn": output}}


def _refuse_clashes(functions: Iterable[Function], merged: Json) -> None:
    ours = {name for name, each in merged["Resources"].items() if "Type" in each}
    chalices = {function.logical_id for function in functions} | {"RestAPI"}
    for name in sorted(ours & chalices):
        raise ValueError(f"{name} is both a function and a resource: rename the function")
    for name in sorted(set(merged["Parameters"]) & (ours | chalices)):
        raise ValueError(f"{name} is both a parameter and a resource")
