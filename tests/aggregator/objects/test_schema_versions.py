"""Schema versions: which records share an object, whatever dies meanwhile."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregator.formats.avro_schema import avro_type
from aggregator.intents.intent import Intent
from aggregator.objects.object_progress import ObjectProgress
from aggregator.objects.rotation import Ending, Rotation
from aggregator.objects.schema_versions import SchemaVersions, bare, is_change, versioned
from replicator.kafka.client.custody import Custody
from tests.aggregator.formats.slices import slice_of
from tests.aggregator.objects.object_life import Life, Logged

COMPATIBILITIES = ["none", "backward", "forward", "full"]
NO_VERSION = 0
"""Size of a record whose schema nobody knows."""


class Known(dict):
    """Types of schemas by their ids."""

    is_known = dict.__contains__
    type_of = dict.get


def type_of(*fields):
    listed = [{"name": name, "type": kind, **more} for name, kind, more in fields]
    text = json.dumps({"type": "record", "name": "row", "fields": listed})
    return avro_type(text.encode())


A, B = ("a", "int", {}), ("b", ["null", "int"], {"default": None})
TYPES = Known(
    {
        1: type_of(A),
        2: type_of(A, B),  # 1 becomes 2, and 2 becomes 1
        3: type_of(("a", "long", {}), B),  # 1 and 2 become 3, which becomes none of them
        4: type_of(("c", "string", {})),  # becomes none, and none becomes it
    }
)
BECOMES = {(1, 2), (2, 1), (1, 3), (2, 3)}
"""Written and wanted versions."""


def takes(compatibility, of_object, of_record):
    """Returns True if an object takes a record, by the words of docs/s3.md."""
    if of_object == of_record:
        return True
    projected = (of_record, of_object) in BECOMES
    match compatibility:
        case "backward" | "full":
            return of_record < of_object and projected
        case "forward":
            return of_record > of_object and projected
    return False


@pytest.mark.parametrize("compatibility", COMPATIBILITIES)
@pytest.mark.parametrize("of_object", TYPES)
@pytest.mark.parametrize("of_record", TYPES)
def test_an_object_takes_what_its_compatibility_lets_become_its_schema(
    compatibility, of_object, of_record
):
    found = is_change(compatibility, of_object, of_record, TYPES)
    assert found is not takes(compatibility, of_object, of_record)


def test_a_schema_without_a_type_is_a_change():
    assert is_change("backward", 9, 1, TYPES)
    assert not is_change("backward", 9, 9, TYPES)


def values(ids):
    return [b"\0" + each.to_bytes(4, "big") + b"\2" if each else b"no header" for each in ids]


@given(st.sampled_from(COMPATIBILITIES), st.lists(st.sampled_from([0, 1, 2, 3, 4, 7]), min_size=1))
def test_the_first_change_is_that_of_a_record_by_record_search(compatibility, ids):
    versions = SchemaVersions(compatibility, TYPES)
    wanted, at = None, None
    for number, each in enumerate(ids):
        if each not in TYPES:
            continue
        wanted = wanted or each
        if not takes(compatibility, wanted, each):
            at = number
            break
    assert versions.first_change(None, slice_of(values(ids))) == (wanted, at)


@dataclass
class OfSizes:
    """Versions of records that are told by their sizes."""

    compatibility: str

    def first_change(self, of_object, records):
        for at, each in enumerate(records.records):
            if each.size == NO_VERSION:
                continue
            of_object = of_object or each.size
            if not takes(self.compatibility, of_object, each.size):
                return of_object, at
        return of_object, None


RECORDS = st.lists(
    st.none() | st.tuples(st.sampled_from("ab"), st.integers(0, 4)), min_size=5, max_size=40
)
STEPS = st.lists(
    st.tuples(st.sampled_from(["read", "seal", "complete", "die"]), st.integers(1, 9)),
    min_size=8,
    max_size=30,
)


def expected(records, compatibility, records_max):
    """Returns the objects that have ended, record by record, without a line of the product."""
    found, opened = {}, {}
    for at, each in enumerate(records):
        if each is None:
            continue
        name, size = each
        begin, version, taken = opened.get(name, (at, None, []))
        if size != NO_VERSION:
            if version and not takes(compatibility, version, size):
                found[name, begin] = tuple(taken)
                begin, version, taken = at, None, []
            version = version or size
        taken.append(Logged(at, name, size=size))
        opened[name] = (begin, version, taken)
        if len(taken) == records_max:
            found[name, begin] = tuple(opened.pop(name)[2])
    return found


@given(RECORDS, st.sampled_from(COMPATIBILITIES), st.none() | st.integers(1, 6), STEPS)
@settings(max_examples=2 * settings.default.max_examples)
def test_whatever_dies_the_objects_end_at_the_changes_of_the_log(
    records, compatibility, records_max, steps
):
    log = [Logged(at, each[0], size=each[1]) for at, each in enumerate(records) if each]
    life = Life(
        log, len(records), Rotation(records_max=records_max), versions=OfSizes(compatibility)
    )
    life.begin()
    for what, amount in steps:
        match what:
            case "read":
                life.read(amount)
            case "seal":
                life.seal()
            case "complete":
                life.complete(amount, is_told=bool(amount % 2))
                if not amount % 2:
                    life.begin()
            case "die":
                life.begin()
    life.begin()
    life.read(len(records))
    while True:
        life.seal()
        life.complete(99, is_told=True)
        life.commit()
        if not life.intent.blocks and not any(d.is_taken for _, d in life.progress.writable()):
            break
    assert life.store == expected(records, compatibility, records_max)


def test_an_object_that_ends_by_a_change_says_so():
    log = [Logged(0, "a", size=1), Logged(1, "a", size=2)]
    life = Life(log, 2, Rotation(), versions=OfSizes("none"))
    life.begin()
    life.read(2)
    assert [draft.ending for _, draft in life.progress.writable()] == [Ending.SCHEMA]


def test_a_version_stands_behind_the_encoded_partition():
    assert versioned("carrier=UA", 7) == "carrier=UA#7"
    assert versioned("carrier=UA", -1) == "carrier=UA#none"
    assert bare("carrier=UA#7") == bare("carrier=UA") == "carrier=UA"


REQUIRED, OPTIONAL = ("a", "int", {}), ("a", ["null", "int"], {"default": None})
SYMBOLS = [{"type": "enum", "name": "e", "symbols": symbols} for symbols in (["A"], ["A", "B"])]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (type_of(REQUIRED), type_of(OPTIONAL)),
        (type_of(REQUIRED, B), type_of(OPTIONAL, ("c", "string", {"default": ""}))),
        (type_of(("a", "string", {})), type_of(("a", ["bytes", "null"], {}))),
        (type_of(("a", SYMBOLS[0], {})), type_of(("a", SYMBOLS[1], {}))),
        (type_of(("a", "int", {})), type_of(("z", "double", {"aliases": ["a"]}))),
    ],
)
def test_versions_that_alternate_share_objects_where_avro_calls_them_compatible(older, newer):
    records = slice_of(values([2 - at % 2 for at in range(100)]))
    intent = Intent(custody=Custody.HELD, offset=0, reference=0, transactional_id="")
    versions = SchemaVersions("backward", Known({1: older, 2: newer}))
    progress = ObjectProgress(Rotation(), intent, versions=versions)
    progress.add(records.offset, 100, {"a": records}, 0.0)
    assert [draft.records for _, draft in progress.writable()] == [100]
