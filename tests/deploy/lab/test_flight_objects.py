"""Flights by month in objects: the cut in a month, and what differs from the topic."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aggregator.files.record_columns import SCHEMA
from deploy.lab.flight_objects import (
    TOPIC,
    almost_through,
    between_parts,
    compare_objects,
    months,
    visible_months,
)
from deploy.lab.traffic import TrafficRecord

JULY = int(datetime(2013, 7, 1, tzinfo=UTC).timestamp() * 1000)
DAY = 86_400_000


def test_the_cut_is_before_the_end_of_a_month():
    times = [JULY - 5, *range(JULY, JULY + 31 * DAY, DAY // 10), JULY + 40 * DAY]
    found = almost_through([TrafficRecord(0, None, b"", None, time) for time in times])
    assert found == 1 + int(310 * 0.97)


def message(offset):
    return SimpleNamespace(
        offset=lambda: offset,
        key=lambda: b"k",
        value=lambda: b"v%d" % offset,
        headers=lambda: [("table", b"flights")],
        timestamp=lambda: (1, JULY + offset),
    )


def row(offset, value=None):
    return {
        "key": b"k",
        "value": value or b"v%d" % offset,
        "headers": [{"name": "table", "value": b"flights"}],
        "timestamp": datetime.fromtimestamp((JULY + offset) / 1000, UTC),
        "topic": TOPIC,
        "partition": 0,
        "offset": offset,
    }


MESSAGES = [message(offset) for offset in range(6)]


@pytest.fixture
def server(tmp_path):
    return SimpleNamespace(objects=tmp_path)


def write(server, begin, *rows, month="07"):
    folder = server.objects / f"air/topics/{TOPIC}/year=2013/month={month}"
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{TOPIC}+0+{begin:010}.parquet"
    pq.write_table(pa.Table.from_pylist(list(rows), schema=SCHEMA), folder / name)


def test_objects_with_each_record_once_are_right(server):
    write(server, 0, row(0), row(1))
    write(server, 2, row(2), row(3), row(4), row(5))
    found = compare_objects(MESSAGES, server)
    assert (found.objects, found.records) == (2, 6)
    assert found.is_right


def test_what_is_lost_doubled_changed_or_elsewhere_is_counted(server):
    write(server, 0, row(0), row(1, b"other"))
    write(server, 2, row(2), row(0), row(3))
    write(server, 4, row(4), month="08")
    found = compare_objects(MESSAGES, server)
    assert (found.lost, found.doubled, found.changed, found.misplaced) == (1, 1, 1, 2)
    assert not found.is_right


def test_an_upload_is_between_its_parts_while_it_has_only_the_first(server):
    for upload, parts in (("a", "1"), ("b", "12"), ("c", "")):
        folder = server.objects / f"air/.sgwtmp/multipart/{upload}/id"
        folder.mkdir(parents=True)
        for part in parts:
            (folder / part).touch()
    assert between_parts(server) == 1


def test_two_objects_of_a_month_are_one_month_of_flights(server):
    write(server, 0, row(0))
    write(server, 1, row(1))
    write(server, 2, row(2), month="08")
    assert visible_months(server) == {(2013, 7), (2013, 8)}
    times = JULY, JULY + 1, JULY + 40 * DAY
    assert months([TrafficRecord(0, None, b"", None, time) for time in times]) == {
        (2013, 7),
        (2013, 8),
    }
