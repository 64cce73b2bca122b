"""Schema source of a feed into objects: a file, a folder of files, or a registry."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import ValidationInfo

from replicator.config.schema_folder import SchemaFolder, schema_folder, single_schema
from replicator.config.security import beside_the_file


@dataclass(frozen=True, slots=True)
class RegistryUrl:
    """Address of a schema registry, without a slash at its end."""

    url: str


SchemaSource = SchemaFolder | RegistryUrl


def read_source(value: object, info: ValidationInfo) -> object:
    """Returns the schemas that a path names, or the registry that a URL does."""
    if isinstance(value, str) and "://" in value:
        return _registry(value)
    if not isinstance(value, str | Path):
        return value
    path = beside_the_file(Path(value), info)
    return single_schema(path) if path.is_file() else schema_folder(path, "avro")


def _registry(text: str) -> RegistryUrl:
    try:
        parts = urlsplit(text)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname)
        parts.port  # noqa: B018 (raises for what is no port)
    except ValueError:
        is_address = False
    if not is_address or parts.query or parts.fragment:
        raise ValueError("is no address of a registry, such as https://registry.example:8081")
    if parts.username or parts.password:
        raise ValueError("names a user: set registry_user and registry_password_file")
    return RegistryUrl(text.rstrip("/"))


def fields_named(source: SchemaSource | None, names: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yields (file, field) of each field of a record in a file that has one of these names."""
    if not isinstance(source, SchemaFolder):
        return
    for file, text in source.files.items():
        found = json.loads(text)
        if isinstance(found, dict) and found.get("type") == "record":
            yield from ((file, each["name"]) for each in found["fields"] if each["name"] in names)
