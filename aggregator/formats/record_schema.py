"""Record schema: one Avro schema that records are written by."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from fastavro.schema import expand_schema

from aggregator.formats.avro_schema import AvroType, UnsupportedSchema, avro_type


@dataclass(frozen=True)
class RecordSchema:
    """Schema as a folder or a registry has it.

    Args:
        name: its id, or the name of its file.
        text: of JSON.
    """

    name: str
    text: bytes

    @cached_property
    def id(self) -> str:
        """Id of at most ten characters: that of a registry, or a hash of the text."""
        return self.name if self.name.isdigit() else hashlib.sha256(self.text).hexdigest()[:8]

    @cached_property
    def kind(self) -> AvroType:
        """Type of its values. Raises UnsupportedSchema."""
        return avro_type(self.text)

    @cached_property
    def flaw(self) -> str | None:
        """Why values cannot be read by it; None if they can."""
        try:
            self.kind  # noqa: B018
        except UnsupportedSchema as error:
            return str(error)
        return None

    @property
    def is_record(self) -> bool:
        """True if its values are records."""
        found = json.loads(self.text)
        return isinstance(found, dict) and found.get("type") == "record"

    @property
    def field_names(self) -> tuple[str, ...]:
        """Names of the fields, in their order; none if it is no record."""
        fields = json.loads(self.text)["fields"] if self.is_record else []
        return tuple(each["name"] for each in fields)

    def with_fields(self, fields: list[dict[str, Any]]) -> str:
        """Returns the text of the same record with further fields behind its own."""
        found = json.loads(self.text)
        if fields:
            found["fields"] += fields
        return json.dumps(found, separators=(",", ":"), ensure_ascii=False)


class Schemas(Protocol):
    """Schemas at hand."""

    def of_topic(self, topic: str) -> RecordSchema | None:
        """Returns the schema of all records of a topic; None if each record names its own."""

    def of_id(self, schema_id: int) -> RecordSchema | None:
        """Returns the schema of an id; None if there is none."""

    def why_unknown(self, schema_id: int) -> str:
        """Returns why there is no schema of an id."""


def checked(name: str, text: bytes) -> RecordSchema:
    """Returns the schema of a text; raises UnsupportedSchema if it is no schema at all."""
    try:
        expand_schema(json.loads(text))
    except Exception as error:  # the library raises whatever its code happens to raise
        raise UnsupportedSchema(f"no Avro schema: {error!r:.200}") from None
    return RecordSchema(name, text)
