"""Write the bills of materials (CycloneDX 1.6) of the package and of the images.

``make sbom`` writes ``build/sbom/*.cdx.json``: one file for the functions' archive, one for each
stage of ``relay/Dockerfile`` that is an image, and one for the image of the local service. They are
made from the pinned requirements alone, so the same commit gives the same bytes. An image's bill
names its base image, whose own bill comes with it.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

from chalicelib.core.json_types import Json

ROOT = Path(__file__).resolve().parents[1]


_BASE = re.compile(r"^ARG BASE=(\S+)$", re.MULTILINE)


class Product(NamedTuple):
    """Something that is released. ``from_local`` are lines of ``requirements-local.txt``."""

    name: str
    kind: str
    requirements: tuple[str, ...]
    from_local: tuple[str, ...] = ()


PRODUCTS = (
    # `chalice package` adds its own runtime to the archive
    Product("postfinch-functions", "application", ("requirements.txt",), ("chalice",)),
    Product("postfinch-relay", "container", ("relay/requirements.txt",)),
    Product(
        "postfinch-provision",
        "container",
        ("requirements.txt", "relay/requirements.txt"),
        ("PyYAML",),
    ),
    Product(
        "postfinch-service",
        "container",
        ("requirements.txt", "relay/requirements.txt", "requirements-local.txt"),
    ),
)


def requirements_of(product: Product) -> list[str]:
    """Return the pinned requirements of a product, each once."""
    lines = [line for path in product.requirements for line in _lines(path)]
    local = _lines("requirements-local.txt")
    lines += [line for line in local if line.partition("==")[0] in product.from_local]
    return sorted(set(lines), key=str.lower)


def bill_of(product: Product) -> Json:
    """Return the bill of one product."""
    program = Path(sys.executable).with_name("cyclonedx-py")
    options = ("--output-reproducible", "--short-PURLs", "--sv", "1.6", "--of", "JSON", "-o", "-")
    done = subprocess.run(
        (str(program), "requirements", "-", *options),
        input="\n".join(requirements_of(product)),
        capture_output=True,
        text=True,
        check=True,
    )
    bill: Json = json.loads(done.stdout)
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    bill["metadata"]["component"] = {
        "bom-ref": product.name,
        "type": product.kind,
        "name": product.name,
        "version": version,
    }
    if product.kind == "container":
        bill["components"].append(_base_image())
    return bill


def main(arguments: list[str] | None = None) -> int:
    """Write all bills into the directory that the command line names."""
    parser = argparse.ArgumentParser(description="Write the bills of materials.")
    parser.add_argument("out", type=Path, help="directory to write to")
    out = parser.parse_args(arguments).out
    out.mkdir(parents=True, exist_ok=True)
    for product in PRODUCTS:
        path = out / f"{product.name}.cdx.json"
        path.write_text(json.dumps(bill_of(product), indent=1, sort_keys=True) + "\n")
        print(path)
    return 0


def _base_image() -> Json:
    match = _BASE.search((ROOT / "relay" / "Dockerfile").read_text())
    assert match is not None, "relay/Dockerfile names a base image"
    name, _, tag = match[1].rpartition(":")
    return {"bom-ref": "base", "type": "container", "name": name, "version": tag}


def _lines(path: str) -> list[str]:
    lines = (line.split("#")[0].strip() for line in (ROOT / path).read_text().splitlines())
    return [line for line in lines if line and not line.startswith("-r ")]


if __name__ == "__main__":
    sys.exit(main())
