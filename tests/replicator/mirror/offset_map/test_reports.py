"""Reports survive the way to Redis; the newest one counts."""

from dataclasses import replace

import pytest

from replicator.mirror.offset_map.reports import PartitionReport, latest, packed, unpacked

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


def test_after_a_move_the_newer_report_counts():
    newer = replace(REPORT, carrier=2, at=1001.0)
    assert latest([newer, REPORT]) == {("west>east", "flights", 3): newer}


def test_reports_of_another_form_are_refused():
    with pytest.raises(ValueError, match="another form"):
        unpacked("[[1,2]]")
