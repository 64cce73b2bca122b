"""Reports and pieces of maps survive the way to Redis."""

import json
from dataclasses import replace

import pytest

from replicator.mirror.offset_map.offset_store import joined
from replicator.mirror.offset_map.packed_map import pack_segment
from replicator.mirror.offset_map.reports import PartitionReport, latest, packed, unpacked
from replicator.mirror.offset_map.run_segment import Run, RunSegment
from tests.replicator.mirror.offset_map.told_logs import runs_of

# -- Reports survive the way to Redis; the newest one counts.

REPORT = PartitionReport(
    route="west>east",
    topic="flights",
    partition=3,
    carrier=1,
    records_per_second=12.5,
    bytes_per_second=None,
    source_end=100,
    mirrored_to=90,
    lag_records=10,
    lag_seconds=0.25,
    parked=None,
    at=1000.0,
)


def test_reports_are_unpacked_as_they_were_packed_and_unknown_stays_unknown():
    reports = [REPORT, replace(REPORT, partition=4, parked="source offsets 7..9 are gone")]
    assert unpacked(packed(reports)) == reports


def test_host_and_pid_of_the_carrier_are_in_each_report():
    (found,) = unpacked(packed([REPORT], "repl-c", 4711))
    assert found == replace(REPORT, host="repl-c", pid=4711)


def test_reports_of_a_later_version_are_read_without_the_fields_that_it_added():
    text = json.loads(packed([REPORT], "repl-c", 4711))
    text["version"] += 1
    text["fields"].insert(0, "colour")
    text["rows"][0].insert(0, "red")
    assert unpacked(json.dumps(text)) == [replace(REPORT, host="repl-c", pid=4711)]


def test_reports_of_an_earlier_version_lack_the_fields_that_it_did_not_know():
    text = json.loads(packed([replace(REPORT, source_high=120)]))
    for values in (text["fields"], text["rows"][0]):
        del values[-4:]
    del text["host"], text["pid"]
    assert unpacked(json.dumps(text)) == [REPORT]


@pytest.mark.parametrize("ahead_seconds", [-60.0, 0.0, 60.0])
def test_after_a_move_the_report_written_last_counts_whatever_the_clocks_say(ahead_seconds):
    newer = replace(REPORT, carrier=2, at=REPORT.at + 1 + ahead_seconds)
    assert latest([REPORT, newer]) == {("west>east", "flights", 3): newer}


@pytest.mark.parametrize(
    "text", ["[[1,2]]", "{}", '{"fields":["route"],"rows":[[]]}', "7", '{"fields":7,"rows":[]}']
)
def test_reports_of_another_form_are_refused(text):
    with pytest.raises(ValueError, match="another form"):
        unpacked(text)


# -- Maps of stored pieces; tests/live/test_offset_store.py has the store itself.


def test_runs_published_after_an_accepted_loss_overrule_those_before_it():
    before = pack_segment(RunSegment(0, 100, (Run(0, 0, 100),)))
    # The target lost everything from 60 on; the operator went on at source offset 100.
    after = pack_segment(RunSegment(100, 110, (Run(100, 60, 10),)))
    assert runs_of(joined({after: 1, before: 0})) == [Run(0, 0, 60), Run(100, 60, 10)]
