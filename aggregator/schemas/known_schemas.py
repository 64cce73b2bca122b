"""Known schemas: those of a feed that a loader has at hand, from files or from a registry.

Schemas of files are known from the start. Those of a registry are fetched before a record that
needs them is taken in: its partition waits meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from aggregator.formats.avro_schema import AvroType, UnsupportedSchema
from aggregator.formats.record_schema import RecordSchema, checked
from aggregator.schemas.schema_registry import NoAvroSchema, SchemaRegistry, SchemasAway
from replicator.runtime.clock import monotonic

ASK_AGAIN_SECONDS = 60.0
"""Time for which a registry is believed that it does not know an id."""


@dataclass(eq=False)
class KnownSchemas:
    """Schemas of a feed.

    Args:
        files: texts of schemas by name, such as 7.avsc.
        single: name of the file that all records are of.
        registry: that knows all other ids.
        taken: names that no field of a record may have, as they are those of record columns.
        unknown_seconds: time for which a registry is asked again, before it is believed that it
            does not know an id: one that follows another may learn it late.
        clock: seconds.
    """

    files: Mapping[str, bytes] = field(default_factory=dict)
    single: str | None = None
    registry: SchemaRegistry | None = None
    taken: Collection[str] = ()
    unknown_seconds: float = 0.0
    clock: Callable[[], float] = monotonic
    _by_id: dict[int, RecordSchema] = field(init=False, default_factory=dict)
    _by_file: dict[str, RecordSchema] = field(init=False, default_factory=dict)
    _asked: dict[int, float] = field(init=False, default_factory=dict)
    """When an id was first asked for that the registry did not know."""
    _unknown: dict[int, float] = field(init=False, default_factory=dict)
    _refused: dict[int, str] = field(init=False, default_factory=dict)

    def of_topic(self, topic: str) -> RecordSchema | None:
        """Returns the schema of all records of a topic; None if each record names its own."""
        # A file named by a number is of the schema with that id.
        own = "" if topic.isdigit() else f"{topic}.avsc"
        name = self.single or own
        if name not in self.files:
            return None
        if name not in self._by_file:
            self._by_file[name] = RecordSchema(name, self.files[name])
        return self._by_file[name]

    def of_id(self, schema_id: int) -> RecordSchema | None:
        """Returns the schema of an id; None if nobody knows it."""
        found = self._by_id.get(schema_id)
        if found is None and (text := self.files.get(f"{schema_id}.avsc")) is not None:
            found = self._by_id[schema_id] = RecordSchema(str(schema_id), text)
        return found

    def why_unknown(self, schema_id: int) -> str:
        """Returns why there is no schema of an id."""
        return self._refused.get(schema_id, f"nobody knows the schema {schema_id}")

    def is_known(self, schema_id: int) -> bool:
        """Returns True for the id of a schema at hand."""
        return self.of_id(schema_id) is not None

    def type_of(self, schema_id: int) -> AvroType | None:
        """Returns the type of a schema; None if it is not known, or has none."""
        found = self.of_id(schema_id)
        return None if found is None or found.flaw else found.kind

    def wanted(self, ids: Collection[int]) -> frozenset[int]:
        """Returns the ids that have to be fetched first."""
        if self.registry is None:
            return frozenset()
        late = self.clock() - ASK_AGAIN_SECONDS
        return frozenset(
            each
            for each in ids
            if each not in self._by_id
            and each not in self._refused
            and self._unknown.get(each, late) <= late
        )

    def fetch(self, ids: Collection[int]) -> None:
        """Fetches schemas from the registry. Blocking.

        Raises:
            SchemasAway: one of them cannot be used now, or may be known soon.
        """
        assert self.registry is not None, "only a registry is asked"
        late: list[int] = []
        for schema_id in sorted(each for each in ids if each not in self._by_id):
            try:
                text = self.registry.schema(schema_id)
                if text is not None:
                    self._by_id[schema_id] = self._usable(schema_id, text)
                    continue
                now = self.clock()
                if now - self._asked.setdefault(schema_id, now) < self.unknown_seconds:
                    late.append(schema_id)
                else:
                    self._unknown[schema_id] = now
            except (NoAvroSchema, UnsupportedSchema) as error:
                self._refused[schema_id] = str(error)
        if late:
            raise SchemasAway(
                f"the registry does not know {late}: it is asked for {self.unknown_seconds:g} s "
                "before records of these schemas become dead letters"
            )

    def _usable(self, schema_id: int, text: str) -> RecordSchema:
        found = checked(str(schema_id), text.encode())
        if both := sorted({*found.field_names} & {*self.taken}):
            raise SchemasAway(
                f"schema {schema_id} has a field {both[0]} of its own: leave it out of "
                "record_columns"
            )
        return found
