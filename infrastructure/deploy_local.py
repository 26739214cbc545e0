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

from chalicelib.core.settings import local_values
from infrastructure.deploy import chosen_parameters, deploy
from infrastructure.deployment.stack import ProvisionFailed
from infrastructure.local.supervisor.environment import InternalPorts, NotRunning
from infrastructure.package import PackagingFailed, build, host_architecture

REGION = "us-east-1"
# The stage would be the running service's own: its workers consume the queues of that.
_NOT_PASSED_ON = ("STAGE",)


def local_environment(environ: Mapping[str, str], ports: InternalPorts) -> dict[str, str]:
    """Return the settings with which functions use what ``make run`` has started."""
    values = {name: text for name, text in local_values().items() if name not in _NOT_PASSED_ON}
    return {
        **values,
        # The cloud's own would else be inherited.
        "LOG_LEVEL": "INFO",
        "SMARTHOST": f"127.0.0.1:{ports.sink}",
        "DNS_SERVERS": f"127.0.0.1:{ports.dns}",
        **environ,
    }


def use(url: str) -> Any:
    """Have this process and its children talk to the cloud at ``url``; return its session."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        del os.environ[name]
    os.environ.update(
        {
            "AWS_ENDPOINT_URL": url,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": REGION,
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        }
    )
    return localstack_client.session.Session(
        aws_access_key_id="test",
        aws_secret_access_key="test",
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
        url = options.url.rstrip("/")
    else:
        try:
            ports = InternalPorts.of_running(Path(environ.get("DATA_DIR") or ".local"))
        except NotRunning as failure:
            print(failure, "Or give --url.", file=sys.stderr)
            return 1
        url, environ = f"http://127.0.0.1:{ports.cloud}", local_environment(environ, ports)
    session = use(url)
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
