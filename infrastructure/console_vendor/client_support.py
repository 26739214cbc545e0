"""Write the data of caniemail.com small: which mail clients support which features.

The console reads the latest version of each client, the local runtime's HTML check reads all.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from chalicelib.core.json_types import Json

Client = tuple[str, str]


def client_support(data: Json) -> str:
    """Return a JSON document of caniemail's ``data``.

    - ``clients``: family and platform of each client, as people call them; ``client_slugs``: as
      caniemail names them
    - ``features``: of each feature its title and a letter for each client, of its latest version:
      yes, no, almost, unknown; ``-`` if caniemail says nothing
    - ``details``: of each feature its category, description, tags, keywords, notes by number, and
      a text for each client, joined by ``|``: its versions, each with its support and the numbers
      of notes (``16.0 n``, ``2020-02 a #1``), joined by commas
    """
    entries = sorted(data["data"], key=lambda each: str(each["slug"]))
    clients: Sequence[Client] = sorted(
        {(f, p) for each in entries for f, of in each["stats"].items() for p in of}
    )
    nice = data["nicenames"]
    document = {
        "date": data["last_update_date"][:10],
        "clients": [[nice["family"][f], nice["platform"][p]] for f, p in clients],
        "client_slugs": clients,
        "features": {each["slug"]: _feature(each, clients) for each in entries},
        "details": {each["slug"]: _details(each, clients) for each in entries},
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n"


def _feature(entry: Json, clients: Iterable[Client]) -> list[str]:
    versions = (list(_versions(entry, each).values()) for each in clients)
    return [entry["title"].strip(), "".join(each[-1][0] if each else "-" for each in versions)]


def _details(entry: Json, clients: Iterable[Client]) -> list[object]:
    return [
        entry["category"],
        (entry["description"] or "").strip(),
        entry["tags"] or [],
        entry["keywords"] or "",
        entry["notes_by_num"] or {},
        "|".join(_line(_versions(entry, each)) for each in clients),
    ]


def _versions(entry: Json, client: Client) -> dict[str, str]:
    versions: dict[str, str] = entry["stats"].get(client[0], {}).get(client[1], {})
    return versions


def _line(versions: dict[str, str]) -> str:
    """Return the versions of one client; raises ValueError if their names would be misread."""
    if any(set(version) & set(" ,|") for version in versions):
        raise ValueError(f"versions cannot be written: {list(versions)}")
    return ",".join(f"{version} {support}" for version, support in versions.items())
