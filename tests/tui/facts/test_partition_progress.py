"""Progress of a partition: lag is what the source has beyond what is mirrored, if both are known
now."""

from dataclasses import replace

import pytest

from replicator.mirror.ledger.entry import Custody
from replicator.mirror.ledger.sightings import Sighting
from tests.tui.facts.route_records import ENTRY, FACTS, LOSS, NOW, PARTITION, REPORT
from tui.facts.part import REPORT_FRESH_SECONDS
from tui.facts.partition_progress import (
    Progress,
    custody_of,
    drain_seconds,
    lag_per_second,
    parked_reason,
    progress_of,
)
from tui.facts.route_facts import NO_PAST, Past, RouteFacts


def progress(now: float = NOW, **facts: object) -> Progress:
    return progress_of(PARTITION, replace(FACTS, **facts), now)


def test_lag_is_what_the_source_has_beyond_what_is_mirrored() -> None:
    found = progress()
    assert (found.end, found.mirrored_to, found.lag, found.lag_seconds) == (100, 90, 10, 0.25)


def test_the_carriers_word_about_the_source_may_be_newer() -> None:
    found = progress(reports={PARTITION: replace(REPORT, source_end=130)})
    assert (found.end, found.lag) == (130, 40)


def test_a_carrier_that_has_not_seen_its_source_lately_does_not_freeze_the_lag() -> None:
    blind = {PARTITION: replace(REPORT, source_end=90, lag_seconds=None)}
    silence = "west regional does not answer"
    found = progress(reports=blind, silence_of_ends=silence)
    assert (found.end, found.lag, found.lag_seconds) == (100, None, None)
    assert not found.is_end_fresh
    seeing = progress(silence_of_ends=silence)
    assert (seeing.end, seeing.lag) == (100, 10)


def test_without_a_report_the_ledger_still_tells_how_far_it_is() -> None:
    found = progress(reports=None)
    assert (found.mirrored_to, found.lag, found.lag_seconds) == (70, 30, None)


def test_an_old_ledger_without_a_report_tells_no_lag() -> None:
    found = progress(reports=None, silence_of_entries="east aggregate does not answer")
    assert (found.mirrored_to, found.lag) == (70, None)


def test_without_a_report_the_ledger_tells_how_long_the_mirror_has_been_behind() -> None:
    waiting = replace(
        ENTRY, seen=(Sighting(0, 400_000, 70, 70), Sighting(500_000, 600_000, 90, 90))
    )
    assert progress(reports=None, entries={PARTITION: waiting}).lag_seconds == 599.0
    caught_up = {PARTITION: replace(ENTRY, seen=(Sighting(0, 940_000, 70, 70),))}
    assert progress(reports=None, entries=caught_up).lag_seconds == 59.0
    all_there = progress(reports=None, entries=caught_up, source_ends={PARTITION: 70})
    assert all_there.lag_seconds == 0.0


def test_an_old_report_says_nothing_about_now() -> None:
    found = progress(now=REPORT.at + REPORT_FRESH_SECONDS + 1)
    assert (found.mirrored_to, found.report) == (70, None)


def test_a_partition_never_carried_has_no_known_lag() -> None:
    virgin = replace(ENTRY, custody=Custody.VIRGIN, source_offset=0)
    found = progress(entries={PARTITION: virgin}, reports={})
    assert (found.mirrored_to, found.lag, found.lag_seconds) == (None, None, None)


def test_nothing_known_is_unknown_and_never_zero() -> None:
    found = progress_of(PARTITION, RouteFacts(FACTS.route, None, None), NOW)
    assert {found.end, found.mirrored_to, found.lag, found.lag_seconds} == {None}


def test_a_mirror_that_has_everything_is_not_behind_in_time_either() -> None:
    found = progress(reports={PARTITION: replace(REPORT, mirrored_to=100)})
    assert (found.lag, found.lag_seconds) == (0, 0.0)


def test_the_reason_of_a_parked_partition_is_the_entrys_or_the_reports() -> None:
    assert parked_reason(ENTRY.park(LOSS), REPORT) == str(LOSS)
    assert parked_reason(ENTRY, replace(REPORT, parked="refused")) == "refused"
    assert parked_reason(ENTRY, REPORT) is None
    assert parked_reason(None, None) is None


def test_custody_is_that_of_the_entry_unless_it_is_parked_or_unreadable() -> None:
    assert custody_of(ENTRY, None, is_readable=True, has_none=True) == "held"
    assert custody_of(ENTRY, "lost", is_readable=True, has_none=True) == "parked"
    assert custody_of(None, "version 9", is_readable=False, has_none=True) == "unreadable"


def test_custody_is_unknown_only_where_the_ledger_was_not_read() -> None:
    assert custody_of(None, None, is_readable=True, has_none=True) == "no entry"
    assert custody_of(None, None, is_readable=True, has_none=False) is None


def test_the_trend_of_a_lag_is_its_change_since_an_earlier_one() -> None:
    past = Past(lag_at=NOW - 50, lags={PARTITION: 110})
    assert lag_per_second(PARTITION, 10, past, NOW) == -2.0
    assert lag_per_second(PARTITION, None, past, NOW) is None
    assert lag_per_second(PARTITION, 10, NO_PAST, NOW) is None


@pytest.mark.parametrize(
    ("lag", "growth", "seconds"),
    [(10, -2.0, 5.0), (0, None, 0.0), (10, 2.0, None), (10, 0.0, None), (None, -2.0, None)],
)
def test_a_lag_that_does_not_shrink_has_no_time_to_drain(
    lag: int | None, growth: float | None, seconds: float | None
) -> None:
    assert drain_seconds(lag, growth) == seconds
