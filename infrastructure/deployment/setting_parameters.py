"""Write the settings of the functions as parameters of the deployment's template.

An empty parameter leaves the choice to the code. So a default may change with a version, and the
functions' environment, which holds 4 KB, has only the values that the operator chose.
"""

from __future__ import annotations

from dataclasses import Field, fields
from typing import Any

from chalicelib.core.json_types import Json
from chalicelib.core.setting_values import Allowed
from chalicelib.core.settings import Settings

# Set by the template itself, or of use to the relay and to services on one machine only
_NO_PARAMETERS = (
    *("stage", "bucket", "secret_key", "kms_key_id", "log_format", "tracing"),
    *("delivery_container", "delivery_processes", "delivery_units"),
    *("delivery_journal", "max_body_bytes", "deliver"),
)
_NO_PREFIXES = ("relay_", "ses_")
_LONGEST_SHOWN = 100
# Where the name of a function is the same
_OTHER_NAMES = {"delivery": "DeliveredBy"}


def parameter_of(setting: str) -> str:
    """Return the template's parameter for a setting, such as ``SystemDomain``."""
    return _OTHER_NAMES.get(setting) or "".join(word.title() for word in setting.split("_"))


def parameter_settings() -> list[Field[Any]]:
    """List the settings that a deployment may choose."""
    return [
        setting
        for setting in fields(Settings)
        if setting.name not in _NO_PARAMETERS and not setting.name.startswith(_NO_PREFIXES)
    ]


def is_secret(setting: Field[Any]) -> bool:
    """Tell whether the value of a setting must not be shown."""
    return not setting.repr


def template_part() -> Json:
    """Return a parameter for each setting, and the variable that it becomes if it has a value."""
    parameters: Json = {}
    conditions: Json = {}
    variables: Json = {}
    for setting in parameter_settings():
        name = parameter_of(setting.name)
        parameters[name] = _parameter(setting)
        conditions[f"Has{name}"] = {"Fn::Not": [{"Fn::Equals": [{"Ref": name}, ""]}]}
        choice = [f"Has{name}", {"Ref": name}, {"Ref": "AWS::NoValue"}]
        variables[setting.name.upper()] = {"Fn::If": choice}
    return {
        "Parameters": parameters,
        "Conditions": conditions,
        "Globals": {"Function": {"Environment": {"Variables": variables}}},
    }


def _parameter(setting: Field[Any]) -> Json:
    default = str(setting.default)
    default_text = default if 0 < len(default) < _LONGEST_SHOWN else "the default"
    parameter: Json = {
        "Type": "String",
        "Default": "",
        "Description": f"{setting.metadata['doc']}; empty: {default_text}",
    }
    if is_secret(setting):
        parameter["NoEcho"] = True
    allowed: Allowed = setting.metadata["allowed"]
    parameter["AllowedPattern"] = f"({allowed.pattern})?"
    parameter["ConstraintDescription"] = f"{setting.name.upper()} must be {allowed.words}"
    return parameter
