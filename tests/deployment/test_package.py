"""Check the package for CloudFormation: the template lints, and the archive is complete."""

from __future__ import annotations

import copy
import importlib.util
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from samtranslator.translator.transform import transform

from chalicelib.core.json_types import Json
from infrastructure.deployment.archive_contents import RUNTIME_PACKAGES
from infrastructure.deployment.functions import functions
from infrastructure.deployment.installed_packages import closure
from infrastructure.package import (
    ARCHITECTURES,
    MOST_BYTES,
    Package,
    PackagingFailed,
    build,
    host_architecture,
)

ROOT = Path(__file__).parents[2]
# The number of the machine type in the header of an ELF file
AARCH64 = 183


@pytest.fixture(scope="module")
def expanded(package: Package) -> Json:
    """The template after the SAM transform, as CloudFormation sees it."""
    template = copy.deepcopy(package.template)
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            resource["Properties"]["CodeUri"] = {"Bucket": "artifacts", "Key": "code.zip"}
    with patch.dict(os.environ, {"AWS_DEFAULT_REGION": "us-east-1"}):
        return transform(template, {}, SimpleNamespace(load=dict))


def test_another_build_of_the_same_files_gives_the_same_bytes(
    package: Package, tmp_path: Path
) -> None:
    """A build elsewhere and later: another directory, process, hash seed and file mode."""
    options = (str(tmp_path), "--installed", "--architecture", host_architecture())
    command = "import os; os.umask(0o077); from infrastructure.package import main; main()"
    environment = {**os.environ, "PYTHONHASHSEED": "12345", "TZ": "Pacific/Auckland"}
    subprocess.run([sys.executable, "-c", command, *options], cwd=ROOT, env=environment, check=True)
    assert (tmp_path / "deployment.zip").read_bytes() == package.archive.read_bytes()
    template = json.dumps(package.template, indent=1)
    assert (tmp_path / "template.json").read_text() == template


@pytest.mark.parametrize("path", ["requirements.txt", "relay/requirements.txt"])
def test_every_package_of_a_release_is_pinned(path: str) -> None:
    """Also what the packages need themselves, or a later build of a version would differ."""
    lines = (ROOT / path).read_text().splitlines()
    pins = {Requirement(line).name: line for line in lines if line and not line.startswith("#")}
    assert all("==" in line for line in pins.values())
    elsewhere = RUNTIME_PACKAGES if path == "requirements.txt" else ()
    packages = closure(ROOT / path, without=elsewhere)
    names = {canonicalize_name(package.name) for package in packages}
    assert names == {canonicalize_name(name) for name in pins} - _other_versions(pins)


def _other_versions(pins: dict[str, str]) -> set[str]:
    """Return the names of the pins that this version of Python does not need."""
    requirements = map(Requirement, pins.values())
    return {each.name for each in requirements if each.marker and not each.marker.evaluate()}


def test_the_merged_template_lints(package: Package, tmp_path: Path) -> None:
    """The linter makes the SAM transform itself, and checks what comes out of it."""
    path = tmp_path / "template.json"
    path.write_text(json.dumps(package.template))
    linter = Path(sys.executable).with_name("cfn-lint")
    command = [str(linter), "--regions", "us-east-1", "eu-west-1", "--", str(path)]
    assert subprocess.run(command, capture_output=True, text=True).stdout == ""


def test_the_template_is_within_the_limits_of_cloudformation(expanded: Json) -> None:
    assert len(json.dumps(expanded)) < 1_000_000
    assert len(expanded["Resources"]) < 500
    assert len(expanded["Parameters"]) < 200


def test_every_function_has_its_handler_memory_timeout_and_architecture(expanded: Json) -> None:
    for function in functions():
        properties = expanded["Resources"][function.logical_id]["Properties"]
        assert properties["Handler"] == f"app.{function.handler}"
        assert properties["MemorySize"] == function.size.memory
        assert properties["Timeout"] == function.size.timeout
        assert properties["Architectures"] == [host_architecture()]


@pytest.mark.spec("1-r7")
def test_error_responses_of_the_gateway_have_the_shape_of_the_api(expanded: Json) -> None:
    body = expanded["Resources"]["RestAPI"]["Properties"]["Body"]
    responses = body["x-amazon-apigateway-gateway-responses"]
    statuses = {name: response.get("statusCode") for name, response in responses.items()}
    assert {"DEFAULT_4XX", "DEFAULT_5XX"} <= set(statuses)
    assert statuses["REQUEST_TOO_LARGE"] == "413"
    assert statuses["UNSUPPORTED_MEDIA_TYPE"] == "415"
    assert statuses["THROTTLED"] == statuses["QUOTA_EXCEEDED"] == "429"
    assert statuses["INTEGRATION_TIMEOUT"] == statuses["INTEGRATION_FAILURE"] == "503"
    for response in responses.values():
        text = response["responseTemplates"]["application/json"]
        errors = json.loads(text.replace("$context.error.messageString", '"Forbidden"'))["errors"]
        assert errors[0]["message"]


def test_the_gateway_passes_every_path_and_method_on(expanded: Json) -> None:
    body = expanded["Resources"]["RestAPI"]["Properties"]["Body"]
    assert set(body["paths"]) == {"/", "/{proxy+}"}
    methods = {"delete", "get", "head", "options", "patch", "post", "put"}
    assert all(set(path) >= methods for path in body["paths"].values())


def test_the_archive_is_small_enough_and_contains_bytecode(package: Package) -> None:
    assert package.archive.stat().st_size <= MOST_BYTES
    with zipfile.ZipFile(package.archive) as files:
        names = set(files.namelist())
    for module in ("app.py", "chalicelib/core/http.py", "pydantic/main.py", "chalice/app.py"):
        assert {module, importlib.util.cache_from_source(module)} <= names
    console = {str(path.relative_to(ROOT)) for path in (ROOT / "console").rglob("*.*")}
    assert console <= names
    assert not any(name.startswith(("boto3/", "tests/", "infrastructure/")) for name in names)


def test_the_archive_has_the_data_files_of_the_code(package: Package) -> None:
    data_files = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "chalicelib").rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc")
    }
    assert "chalicelib/delivery/reply_rules.json" in data_files
    with zipfile.ZipFile(package.archive) as files:
        assert data_files <= set(files.namelist())


@pytest.mark.slow
def test_packaging_for_another_processor_downloads_packages_for_it(tmp_path: Path) -> None:
    """This needs the package index, because the installed packages are for this machine."""
    (other,) = set(ARCHITECTURES) - {host_architecture()}
    try:
        package = build(tmp_path, architecture=other)
    except PackagingFailed as failure:
        if "Could not satisfy the requirement" in str(failure):
            pytest.skip("the package index cannot be reached")
        raise
    with zipfile.ZipFile(package.archive) as files:
        machines = {
            name: int.from_bytes(files.read(name)[18:20], "little")
            for name in files.namelist()
            if name.endswith(".so")
        }
    assert len(machines) >= 4
    if other == "arm64":
        assert set(machines.values()) == {AARCH64}
    else:
        assert AARCH64 not in machines.values()
