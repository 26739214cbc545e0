"""Create or update the stack of ``template.yaml``, wherever ``AWS_ENDPOINT_URL`` points.

``python -m infrastructure.provision`` takes the stage and the bucket's name from the settings. It
may be run any number of times: a stack that is up to date does not change, and one whose creation
failed is removed and created again. It returns when the stack is complete; otherwise
:class:`ProvisionFailed` carries the reason of the first resource that failed.

A stack that was deployed with its functions (:mod:`infrastructure.deploy`) is refused: this
template would remove them.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from chalicelib.core import aws
from chalicelib.core.json_types import Json
from chalicelib.core.settings import settings
from infrastructure.deployment.stack import ProvisionFailed, Stack

__all__ = ["TEMPLATE", "ProvisionFailed", "provision", "read_template"]

TEMPLATE = Path(__file__).with_name("template.yaml")


def provision(stage: str, parameters: Mapping[str, str] | None = None) -> None:
    """Create or update the stack ``postfinch-<stage>`` from the template with ``parameters``.

    Parameters are those of the template other than ``Stage``. Raises :class:`ProvisionFailed`.
    """
    values = {"Stage": stage, **(parameters or {})}
    stack = Stack(aws.make_client("cloudformation"), f"postfinch-{stage}")
    if stack.outputs():
        raise ProvisionFailed(f"postfinch-{stage} has functions: update it with `make deploy`")
    stack.apply({"TemplateBody": TEMPLATE.read_text()}, values)
    complete_tables(stage, aws.make_client("dynamodb"))


def complete_tables(stage: str, client: Any) -> None:
    """Set each table's time to live and point-in-time recovery where they are not set.

    A local cloud's CloudFormation may take them and ignore them, and a table that was restored from
    a backup comes without them. Otherwise nothing is changed.
    """
    for resource in read_template()["Resources"].values():
        if resource["Type"] == "AWS::DynamoDB::Table":
            _complete_table(stage, resource["Properties"], client)


class _Template(yaml.CSafeLoader):
    """YAML with CloudFormation's short forms, read as ``{function: argument}``."""


def _short_form(loader: yaml.CSafeLoader, name: str, node: yaml.Node) -> Json:
    if isinstance(node, yaml.ScalarNode):
        return {name: loader.construct_scalar(node)}
    assert isinstance(node, yaml.SequenceNode)
    return {name: loader.construct_sequence(node, deep=True)}


_Template.add_multi_constructor("!", _short_form)


def read_template() -> Json:
    """Return the template; a short form such as ``!Sub x`` becomes ``{"Sub": "x"}``."""
    template: Json = yaml.load(TEMPLATE.read_text(), _Template)
    return template


def _complete_table(stage: str, declared: Json, client: Any) -> None:
    name = declared["TableName"]["Sub"].replace("${Stage}", stage)
    expiry = client.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
    if expiry["TimeToLiveStatus"] == "DISABLED":
        client.update_time_to_live(
            TableName=name, TimeToLiveSpecification=declared["TimeToLiveSpecification"]
        )
    backups = client.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
    recovery = backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"]
    if recovery == "DISABLED":
        client.update_continuous_backups(
            TableName=name,
            PointInTimeRecoverySpecification=declared["PointInTimeRecoverySpecification"],
        )


def main() -> int:
    """Provision the stack that the settings name."""
    configured = settings()
    parameters = {"BucketName": configured.bucket} if configured.bucket else {}
    try:
        provision(configured.stage, parameters)
    except ProvisionFailed as failure:
        print(failure, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
