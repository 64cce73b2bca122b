"""Snapshot as JSON and back, and the schema of its JSON."""

from __future__ import annotations

import json

from pydantic import TypeAdapter

from tui.facts.snapshot import Snapshot

ADAPTER = TypeAdapter(Snapshot)


def to_json(snapshot: Snapshot) -> bytes:
    """Returns a snapshot as compact JSON."""
    return ADAPTER.dump_json(snapshot)


def from_json(text: str | bytes) -> Snapshot:
    """Parses a snapshot; fields of later versions are left out. Raises ValueError."""
    return ADAPTER.validate_json(text)


def schema_text() -> str:
    """Returns the JSON Schema of a snapshot, as docs/status.schema.json has it."""
    schema = ADAPTER.json_schema(mode="serialization")
    return json.dumps({**schema, "title": "sluice status -o json"}, indent=2) + "\n"
