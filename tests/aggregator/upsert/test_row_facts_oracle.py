"""Rows of a tick, against a plain reading of each record by itself."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from aggregator.upsert.tick import Tick
from tests.aggregator.upsert.tick_records import (
    HOUR_MS,
    NOW_MS,
    Rules,
    reading,
    records,
    rows_schema,
    tick_of,
)

NOW_S = NOW_MS // 1000
SCHEMA = rows_schema(id="UInt16", at="DateTime", gone="UInt8")
HOURS, AHEAD_S = 2, 60


class Given(NamedTuple):
    """Record: of an absent document, the value is empty."""

    key: bytes | None
    document: dict[str, Any] | None
    time_ms: int

    @property
    def value(self) -> bytes | None:
        return None if self.document is None else json.dumps(self.document).encode()


ids = st.sampled_from([1, 2, 3, 70_000, None, "x"])
ages_s = st.sampled_from([0, 5, HOURS * 3600, HOURS * 3600 + 1, -AHEAD_S, -AHEAD_S - 1])
documents = st.fixed_dictionaries(
    {},
    optional={
        "id": ids,
        "at": st.one_of(ages_s.map(lambda age: NOW_S - age), st.none()),
        "gone": st.sampled_from([0, 1]),
    },
)
keys = st.sampled_from([b"1", b"2", b'{"id": 3}', b"", b"70000", None])
any_record = st.builds(
    Given,
    keys,
    st.one_of(st.none(), documents),
    ages_s.map(lambda age: NOW_MS - age * 1000),
)


def expected(record: Given, rules: Rules) -> str | tuple[int, int, bool]:
    """Returns the record's key, order and whether it deletes; or what becomes of it instead."""
    document, is_delete = record.document, False
    at_ms = record.time_ms
    if document is None and not rules.empty_value_deletes:
        return "nothing"
    if document is None:
        if record.key not in (b"1", b"2", b'{"id": 3}'):
            return "letter"
        document, is_delete = {"id": 3 if b"{" in record.key else int(record.key)}, True
        order = record.time_ms // 1000 if rules.newest_column else record.time_ms
    else:
        wrong = (None in document.values(), document.get("id") not in (1, 2, 3))
        if any(wrong) or (rules.newest_column and "at" not in document):
            return "letter"
        is_delete = bool(rules.delete_column and document.get("gone"))
        order = document["at"] if rules.newest_column else record.time_ms
    if rules.newest_column:
        at_ms = order * 1000
    if at_ms > NOW_MS + AHEAD_S * 1000:
        return "future"
    if at_ms < NOW_MS - HOURS * HOUR_MS:
        return "expired"
    return document["id"], order, is_delete


def read(tick: Tick, rules: Rules, lanes: list[list[Given]], cut: int) -> tuple[Any, Any]:
    """Returns facts and notes of the records, read in two parts."""
    parts: list[list[Any]] = [[], []]
    left = cut
    for lane, some in enumerate(lanes):
        first = tick.ranges[lane].begin
        for number, (begin, end) in enumerate(((0, min(left, len(some))), (left, len(some)))):
            if chosen := some[begin:end]:
                values = [each.value for each in chosen]
                made = records(
                    lane,
                    first + begin,
                    *values,
                    keys=[each.key for each in chosen],
                    times=[each.time_ms for each in chosen],
                )
                parts[number].append(made)
        left = max(left - len(some), 0)
    found = [reading(tick, rules, SCHEMA).rows(part) for part in parts if part]
    rows = [row for each in found for row in each.facts.to_pylist()]
    notes = [note for each in found for note in each.notes]
    return rows, notes


@settings(max_examples=80)
@given(
    st.lists(st.lists(any_record, max_size=8), min_size=3, max_size=3),
    st.builds(
        Rules,
        newest_column=st.sampled_from([None, "at"]),
        delete_column=st.sampled_from([None, "gone"]),
        empty_value_deletes=st.booleans(),
        retention_hours=st.just(HOURS),
        future_seconds_max=st.just(AHEAD_S),
    ),
    st.integers(0, 24),
)
def test_each_record_becomes_what_it_is_by_itself(lanes, rules, cut):
    tick = tick_of(*((10 * lane, 10 * lane + len(some)) for lane, some in enumerate(lanes)))
    rows, notes = read(tick, rules, lanes, cut)
    keys: dict[int, bytes] = {}
    wanted: list[tuple[int, int, bool]] = []
    for lane, some in enumerate(lanes):
        results = [expected(each, rules) for each in some]
        letters = [
            10 * lane + at for at, each in enumerate(results) if each in ("letter", "future")
        ]
        own = [each for each in notes if each.lane == lane]
        assert [offset for each in own for offset, _ in each.letters] == letters
        assert sum(each.expired for each in own) == results.count("expired")
        assert sum(each.future for each in own) == results.count("future")
        assert sum(each.rows for each in own) == sum(isinstance(each, tuple) for each in results)
        for at, each in enumerate(results):
            if isinstance(each, tuple):
                wanted.append((tick.row_id(lane, 10 * lane + at), *each[1:]))
                row = next(row for row in rows if row["row_id"] == wanted[-1][0])
                assert keys.setdefault(each[0], row["key"]) == row["key"]
    assert [(row["row_id"], row["order"], row["is_delete"]) for row in rows] == wanted
    assert len(set(keys.values())) == len(keys)
