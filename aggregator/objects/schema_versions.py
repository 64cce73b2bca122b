"""Schema versions: which records of other schemas an object takes. Pure.

Versions are told apart, and ordered, by their ids: a registry gives ascending ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from aggregator.formats.avro_projection import projection
from aggregator.formats.avro_schema import AvroType
from aggregator.formats.record_slice import RecordSlice
from aggregator.formats.schema_ids import NO_ID, schema_ids

SEPARATOR = "#"
"""Stands between an encoded partition, whose own are escaped, and the version of its records."""
NONE = "none"
"""Version of a record that names none."""


class KnownTypes(Protocol):
    """Types of the schemas at hand, by their ids."""

    def is_known(self, schema_id: int) -> bool:
        """Returns True for the id of a known schema. Records of others are no part of an object's
        content, and change none."""

    def type_of(self, schema_id: int) -> AvroType | None:
        """Returns the type of a schema; None if it is not known, or has none."""


def versioned(encoded_partition: str, schema_id: int) -> str:
    """Returns the name of an encoded partition's records of one version."""
    version = NONE if schema_id == NO_ID else schema_id
    return f"{encoded_partition}{SEPARATOR}{version}"


def bare(name: str) -> str:
    """Returns the encoded partition of a name."""
    return name.partition(SEPARATOR)[0]


def is_change(compatibility: str, of_object: int, of_record: int, known: KnownTypes) -> bool:
    """Returns True if an object takes no record of this version.

    Args:
        compatibility: none, backward, forward or full, as Confluent's registry names them.
        of_object, of_record: ids of known schemas.
    """
    if of_object == of_record:
        return False
    is_newer = of_record > of_object
    if compatibility == "none" or is_newer != (compatibility == "forward"):
        return True
    written, wanted = known.type_of(of_record), known.type_of(of_object)
    return written is None or wanted is None or projection(written, wanted) is None


@dataclass(eq=False)
class SchemaVersions:
    """Versions that share objects."""

    compatibility: str
    known: KnownTypes
    _changes: dict[tuple[int, int], bool] = field(init=False, default_factory=dict)

    def first_change(
        self, of_object: int | None, records: RecordSlice
    ) -> tuple[int | None, int | None]:
        """Returns the version of an object with these records, and the index of the first one that
        it does not take; None: it has no version yet, it takes all.

        Args:
            of_object: before; None: it has none.
        """
        ids = schema_ids(records)
        found, first = np.unique(ids, return_index=True)
        order = np.argsort(first)
        for at in order.tolist():
            schema_id = int(found[at])
            if schema_id == NO_ID or not self.known.is_known(schema_id):
                continue
            if of_object is None:
                of_object = schema_id
            elif self._is_change(of_object, schema_id):
                return of_object, int(first[at])
        return of_object, None

    def _is_change(self, of_object: int, of_record: int) -> bool:
        pair = of_object, of_record
        if pair not in self._changes:
            self._changes[pair] = is_change(self.compatibility, *pair, self.known)
        return self._changes[pair]
