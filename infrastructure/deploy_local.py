"""Deploy the packaged application to a cloud on this machine, as ``infrastructure.deploy`` to AWS.

``python -m infrastructure.deploy_local`` deploys to the MiniStack that ``make run`` has started
(``DATA_DIR`` says which); its functions use the bundled sink and DNS server. ``--url`` names a
LocalStack, or any other cloud on one port, instead. Nothing of it can reach AWS.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import localstack_client.session
from botocore.exceptions import BotoCoreError, ClientError

from chalicelib.core.settings import local_values, read_each
from infrastructure.deploy import chosen_parameters, deploy
from infrastructure.deployment.stack import ProvisionFailed
from infrastructure.local.outgoing_mail import without_way_out
from infrastructure.local.supervisor.cloud_access import (
    ACCESS_KEY_ID,
    REGION,
    aws_environment,
    read_secret,
)
from infrastructure.local.supervisor.ports import InternalPorts, NotRunning
from infrastructure.package import PackagingFailed, build, host_architecture

_ANY_SECRET = "test"
# The stage would be the running service's own: its workers consume the queues of that.
_NOT_PASSED_ON = ("STAGE",)


def local_environment(environ: Mapping[str, str], ports: InternalPorts) -> dict[str, str]:
    """Return the settings with which functions use what ``make run`` has started."""
    delivers = read_each({**local_values(), **environ}).deliver
    values = {name: text for name, text in local_values().items() if name not in _NOT_PASSED_ON}
    return {
        **values,
        # The cloud's own would else be inherited.
        "LOG_LEVEL": "INFO",
        "SMARTHOST": f"127.0.0.1:{ports.sink}",
        "DNS_SERVERS": f"127.0.0.1:{ports.dns}",
        **(environ if delivers else without_way_out(environ)),
    }


def use(url: str, secret: str = _ANY_SECRET) -> Any:
    """Have this process and its children talk to the cloud at ``url``; return its session.

    ``secret`` signs the requests; a LocalStack takes any.
    """
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        del os.environ[name]
    os.environ.update(aws_environment(url, secret))
    return localstack_client.session.Session(
        aws_access_key_id=ACCESS_KEY_ID,
        aws_secret_access_key=secret,
        region_name=REGION,
        localstack_host=urlsplit(url).netloc,
    )


def main(arguments: list[str] | None = None) -> int:
    """Deploy to a cloud on this machine."""
    parser = argparse.ArgumentParser(description="Deploy Postfinch to a cloud on this machine.")
    parser.add_argument("--stage", default="dev")
    parser.add_argument("--url", help="the cloud's address; without it, that of `make run`")
    options = parser.parse_args(arguments)
    environ = dict(os.environ)
    if options.url:
        url, secret = options.url.rstrip("/"), _ANY_SECRET
    else:
        data_dir = Path(environ.get("DATA_DIR") or ".local")
        try:
            ports = InternalPorts.of_running(data_dir)
        except NotRunning as failure:
            print(failure, "Or give --url.", file=sys.stderr)
            return 1
        url, secret = ports.cloud_url, read_secret(data_dir)
        environ = local_environment(environ, ports)
    session = use(url, secret)
    try:
        with tempfile.TemporaryDirectory() as directory:
            # MiniStack runs functions under this interpreter, LocalStack in Lambda's image.
            package = build(
                Path(directory), architecture=host_architecture(), installed=not options.url
            )
            deployed = deploy(
                options.stage,
                package,
                clients=session.client,
                parameters=chosen_parameters(package, environ),
                cloud=url,
                api_key=environ.get("API_KEY", ""),
            )
    except (PackagingFailed, ProvisionFailed, BotoCoreError, ClientError) as failure:
        print(failure, file=sys.stderr)
        return 1
    print(deployed.report())
    return 0


if __name__ == "__main__":
    sys.exit(main())
