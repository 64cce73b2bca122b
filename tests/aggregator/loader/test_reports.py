"""Reports survive encoding, and the newest one of a partition counts."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.loader.reports import LoaderReport, TableReport, latest

natural = st.integers(0, 2**63 - 1)
tables = st.dictionaries(st.text(), st.builds(TableReport, st.text(), natural))
reports = st.builds(
    LoaderReport,
    feed=st.text(),
    loader=natural,
    cluster=st.text(),
    topic=st.text(),
    partition=natural,
    mode=st.sampled_from(["replay", "consume"]),
    position=natural,
    offset=natural,
    buffered_bytes=natural,
    tables=tables,
    rows_per_second=st.none() | st.floats(0, 1e9),
    lag_seconds=st.none() | st.floats(0, 1e9),
    dead_letters=st.none() | natural,
    parked=st.none() | st.text(),
    open_objects=st.none() | natural,
    open_since_ms=st.none() | natural,
    at_ms=natural,
)


def report(**fields):
    values = {"feed": "flights", "loader": 1, "cluster": "west regional", "topic": "t"}
    values |= {"partition": 0, "mode": "consume", "position": 5, "offset": 3}
    return LoaderReport(**{**values, "buffered_bytes": 9, "at_ms": 1000, **fields})


@given(reports)
def test_a_report_read_back_is_the_same(sent):
    assert LoaderReport.from_json(sent.to_json()) == sent


@given(reports)
def test_a_report_is_one_line(sent):
    assert len(sent.to_json().encode().splitlines()) == 1


def test_fields_of_a_later_version_are_ignored():
    sent = report(tables={"hits": TableReport("loading", 7)})
    values = json.loads(sent.to_json())
    values["colour"] = values["tables"]["hits"]["colour"] = "red"
    assert LoaderReport.from_json(json.dumps(values)) == sent


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"tables":{"a":1}}', '{"tables":{}}', "5"])
def test_what_is_no_report_is_refused(text):
    with pytest.raises(ValueError):
        LoaderReport.from_json(text)


def test_the_newest_report_of_each_partition_counts():
    old, new, other = report(loader=1), report(loader=2, at_ms=2000), report(partition=1)
    east = report(cluster="east regional")
    assert latest([new, old, other, east]) == {
        new.source: new,
        other.source: other,
        east.source: east,
    }


def test_records_of_open_objects_have_waited_since_the_first_one_was_read():
    assert report().open_seconds is None
    assert report(open_objects=0).open_seconds == 0
    opened = report(open_objects=2, open_since_ms=400, at_ms=1000)
    assert opened.open_seconds == opened.end_to_end_seconds == 0.6
