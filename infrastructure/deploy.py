"""Deploy the application with CloudFormation to the cloud that the AWS variables name.

``make deploy STAGE=dev`` or ``python -m infrastructure.deploy --stage dev``:

1. package (:mod:`infrastructure.package`);
2. upload (:mod:`infrastructure.deployment.artifacts`);
3. create the stack ``postfinch-<stage>`` or update it in place, and wait;
4. once the API has an address, set ``PUBLIC_URL`` of the functions, unless the operator chose one;
5. unless the account exists, store what a first start needs and print the first key;
6. on AWS, warn of missing settings without which the stage cannot send or take bounces.

A parameter of the template takes its value from the environment variable of the same name
(``SystemDomain`` from ``SYSTEM_DOMAIN``), and keeps it in later deployments. This may be run any
number of times; it leaves alone what did not change.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from chalicelib.core.settings import Settings, load, read_each
from infrastructure.deployment import first_key
from infrastructure.deployment.artifacts import upload
from infrastructure.deployment.setting_parameters import is_secret, parameter_of, parameter_settings
from infrastructure.deployment.stack import CAPABILITIES, ProvisionFailed, Stack
from infrastructure.package import ARCHITECTURES, Package, PackagingFailed, build
from infrastructure.provision import complete_tables

#: A user name and its password, which is a secret
_PASSWORD = "SmarthostPassword"  # pragma: allowlist secret
_LOGIN = {"SmarthostUsername", _PASSWORD}

Clients = Callable[[str], Any]
Outputs = Mapping[str, str]

_NO_SMARTHOST = """\
This stage cannot send, because it has no smarthost. Set yours and deploy again:
  SMARTHOST=smtp.example.net:587 SMARTHOST_USERNAME=... SMARTHOST_PASSWORD=... \\
  {again}
or send through Amazon SES: TRANSPORT=ses {again}
(docs/mail-setup.md)"""

_NO_DOMAIN = """\
Bounces would go to {default}, a domain that does not exist. Set yours and deploy again:
  SYSTEM_DOMAIN=mail.example.com MAIL_HOSTNAME=mail.example.com \\
  {again}"""


@dataclass(frozen=True, slots=True)
class Deployed:
    """The result of a deployment. ``api_key`` is there if this deployment stored it.

    ``warnings`` tell what keeps the stage from working and how to set it right.
    """

    stage: str
    url: str
    outputs: Outputs
    api_key: str | None
    warnings: Sequence[str] = ()

    def report(self) -> str:
        """Return what to tell the user."""
        lines = [f"postfinch-{self.stage} is deployed.", "", f"  API       {self.url}/api/v1"]
        if self.api_key:
            lines.append(f"  API key   {self.api_key} (shown this once)")
        if target := self.outputs.get("DomainTarget"):
            lines.append(f"  DNS       a CNAME record of your domain with {target}")
        for warning in self.warnings:
            lines += ["", f"WARNING: {warning}"]
        return "\n".join(lines)


def deploy(
    stage: str,
    package: Package,
    *,
    clients: Clients,
    parameters: Mapping[str, str],
    cloud: str = "",
    api_key: str = "",
) -> Deployed:
    """Deploy ``package`` as ``stage``; ``parameters`` are those of the stack.

    ``cloud`` is the address of a cloud that is not AWS. ``api_key`` is stored as a key of the first
    account; without one, the first deployment makes one. Raises :class:`ProvisionFailed`.
    """
    source = {"TemplateURL": upload(package, clients), "Capabilities": CAPABILITIES}
    names = [name for name in package.template["Parameters"] if not name.endswith("Visibility")]
    stack = Stack(clients("cloudformation"), f"postfinch-{stage}")
    parameters = {**parameters, "Stage": stage}
    is_new = not stack.exists()
    refuse_conflicts({} if is_new else stack.parameters(), parameters)
    if is_new:
        # Names of buckets are shared by everybody who uses AWS.
        account = clients("sts").get_caller_identity()["Account"]
        parameters.setdefault("BucketName", f"postfinch-{stage}-{account}")
    stack.apply(source, parameters, keep=names)
    if not stack.parameters()["PublicUrl"]:
        parameters["PublicUrl"] = api_url(stack.outputs(), cloud)
        stack.apply(source, parameters, keep=names)
    complete_tables(stage, clients("dynamodb"))
    outputs, settled = stack.outputs(), stack.parameters()
    environment = {
        **_settings_of(settled),
        "STAGE": stage,
        "KMS_KEY_ID": outputs["SealingKeyId"],
    }
    key = first_key.ensure(environment, api_key)
    warnings = [] if cloud else missing_choices(stage, settled)
    return Deployed(stage, settled["PublicUrl"], outputs, key, warnings)


def missing_choices(stage: str, parameters: Mapping[str, str]) -> list[str]:
    """Return a warning for each setting that AWS needs a choice of and ``parameters`` leave out."""
    command = os.environ.get("COMMAND_NAME")
    again = f"{command} --stage {stage}" if command else f"make deploy STAGE={stage}"
    warnings = []
    if parameters["Transport"] in ("", "smtp") and not parameters["Smarthost"]:
        warnings.append(_NO_SMARTHOST.format(again=again))
    if not parameters["SystemDomain"]:
        warnings.append(_NO_DOMAIN.format(again=again, default=Settings().system_domain))
    return warnings


def chosen_parameters(package: Package, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the parameters of the template that ``environ`` chooses."""
    names = {_variable(name): name for name in package.template["Parameters"] if name != "Stage"}
    return {names[key]: value for key, value in environ.items() if key in names}


def check_values(environ: Mapping[str, str]) -> None:
    """Check each setting that ``environ`` chooses; raises ``ValueError`` with one line."""
    names = [setting.name.upper() for setting in parameter_settings()]
    read_each({name: environ[name] for name in names if environ.get(name)})


def refuse_conflicts(earlier: Mapping[str, str], parameters: Mapping[str, str]) -> None:
    """Raise :class:`ProvisionFailed` if what a stage would have then contradicts itself.

    CloudFormation shows the same of a secret that is set and of one that is not, so nothing is said
    about those of ``earlier``.
    """
    together = {**earlier, **parameters}
    if earlier and _PASSWORD not in parameters:
        together = {name: text for name, text in together.items() if name not in _LOGIN}
    environ = {
        setting.name.upper(): text
        for setting in parameter_settings()
        if (text := together.get(parameter_of(setting.name)))
        and (not is_secret(setting) or parameters.get(parameter_of(setting.name)))
    }
    try:
        load(environ)
    except ValueError as error:
        raise ProvisionFailed(str(error)) from None


def api_url(outputs: Outputs, cloud: str = "") -> str:
    """Return the API's address on AWS, or in the cloud on one port whose address is ``cloud``."""
    if cloud:
        return f"{cloud.rstrip('/')}/_aws/execute-api/{outputs['RestAPIId']}/api"
    return outputs["EndpointURL"].rstrip("/")


def _variable(parameter: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", parameter).upper()


def _settings_of(parameters: Mapping[str, str]) -> dict[str, str]:
    """Return the settings that a stack's parameters choose; secret ones cannot be read.

    Nor is there the user name of a password.
    """
    return {
        setting.name.upper(): text
        for setting in parameter_settings()
        if not is_secret(setting)
        and (name := parameter_of(setting.name)) not in _LOGIN
        and (text := parameters[name])
    }


def _session() -> Any:
    return boto3.session.Session()


def main(arguments: list[str] | None = None) -> int:
    """Deploy to AWS, or to where ``AWS_ENDPOINT_URL`` points."""
    parser = argparse.ArgumentParser(
        prog=os.environ.get("COMMAND_NAME"), description="Deploy Postfinch with CloudFormation."
    )
    parser.add_argument("--stage", default="dev")
    parser.add_argument("--architecture", choices=ARCHITECTURES, default="arm64")
    options = parser.parse_args(arguments)
    try:
        check_values(os.environ)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    try:
        with tempfile.TemporaryDirectory() as directory:
            package = build(Path(directory), architecture=options.architecture)
            deployed = deploy(
                options.stage,
                package,
                clients=_session().client,
                parameters=chosen_parameters(package, os.environ),
                cloud=os.environ.get("AWS_ENDPOINT_URL", ""),
                api_key=os.environ.get("API_KEY", ""),
            )
    except (PackagingFailed, ProvisionFailed, BotoCoreError, ClientError) as failure:
        print(failure, file=sys.stderr)
        return 1
    print(deployed.report())
    return 0


if __name__ == "__main__":
    sys.exit(main())
