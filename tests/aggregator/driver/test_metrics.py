"""Metrics of feeds: known values are served, unknown ones have no sample, counters only grow."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from aggregator.driver.metrics import Counting, CountsCollector, FeedCollector
from aggregator.loader.counters import (
    COMMIT_FAILURES,
    COMMITS,
    COUNTERS,
    INSERT_ERRORS,
    LOSSES,
    RESTARTS,
    ROWS,
)
from aggregator.loader.loader_counts import LoaderCounts, LoaderTotals
from aggregator.loader.reports import LoaderReport, TableReport
from balancer.topic_partition import TopicPartition

# -- Metrics of feeds: known values are served, unknown ones have no sample, and each metric
# that operators of the Block Aggregator watch has a counterpart.

PAGE = (Path(__file__).parents[3] / "docs" / "operating.md").read_text()
EXPLAINED = {
    name
    for row in re.findall(r"^\| (`sluice_feed_.*?) \|", PAGE, re.MULTILINE)
    for name in re.findall(r"`(\w+)`", row)
}
"""Metrics with a row in a table of the page."""
COUNTERPARTS = {
    "offset_commit_time": "sluice_feed_commit_seconds_total",
    "offset_commit_failed": "sluice_feed_commit_failures_total",
    "committed_offset": "sluice_feed_committed_offset",
    "offset_processed": "sluice_feed_position",
    "messages_processed": "sluice_feed_records_read_total",
    # Nothing is ignored: a record that cannot be loaded becomes a dead letter.
    "messages_ignored": "sluice_feed_dead_letters",
    "messages_replayed": "sluice_feed_records_replayed_total",
    "messages_replay_ignored": "sluice_feed_records_passed_over_total",
    "replay_skipped": "sluice_feed_replays_skipped_total",
    # A log that went back or was cut parks its partition, under the kind of the loss.
    "offset_went_backward": "sluice_feed_losses_total",
    "message_rewound": "sluice_feed_losses_total",
    "abnormal_message": "sluice_feed_losses_total",
    # An offset is never reset, unless an operator accepts the loss.
    "offset_reset": "sluice_feed_losses_accepted",
    "offset_larger_than_expected": "sluice_feed_offsets_empty_total",
    # The commit of a loader that was taken over is refused, and that is final.
    "metadata_committed_by_other": "sluice_feed_commit_failures_total",
    "commit_finally_failed": "sluice_feed_commit_failures_total",
    "partitions_assigned": "sluice_feed_partitions",
    "partitions_rebalance_time": "sluice_feed_takeover_seconds_total",
    "loop_restarted": "sluice_feed_loader_restarts_total",
    "wrong_format": "sluice_feed_records_refused_total",
    "block_loading_time": "sluice_feed_block_loading_seconds_total",
    "block_loading_retries": "sluice_feed_insert_retries_total",
    "bytes_in_blocks": "sluice_feed_block_bytes_total",
    "rows_in_blocks": "sluice_feed_rows_total",
    "errors_from_clickhouse": "sluice_feed_insert_errors_total",
    # A block is never given up: it is under way until it is stored.
    "blocks_not_persisted": "sluice_feed_blocks_in_flight",
    "end_to_end_lag": "sluice_feed_lag_seconds",
    "schema_fetches": "sluice_feed_schema_reads_total",
    "schema_changes": "sluice_feed_schema_changes_total",
    "schema_failures": "sluice_feed_schema_failures_total",
    "quorum_waits": "sluice_feed_quorum_waits_total",
    # Code 286: another writer's insert waits for its quorum.
    "quorum_contention": "sluice_feed_insert_errors_total",
    "freeze_status": "sluice_feed_frozen",
}
"""Metrics of the Block Aggregator that matter, each with the one of feeds that shows the same."""
MORE = {
    "sluice_feed_intent_seconds",
    "sluice_feed_window_used",
    "sluice_feed_buffered_bytes",
    "sluice_feed_rows_per_second",
    "sluice_feed_row_lag_seconds_total",
}
"""Metrics that it lacks."""
REPORT = LoaderReport(
    feed="flights",
    loader=1,
    cluster="west regional",
    topic="t",
    partition=3,
    mode="consume",
    position=50,
    offset=40,
    buffered_bytes=9,
    at_ms=100_000,
)
OF_REPORT = '{cluster="west regional",feed="flights",partition="3",topic="t"}'
KNOWN = {
    "rows_per_second": 5.0,
    "lag_seconds": 1.5,
    "dead_letters": 2,
    "committed": 38,
    "source_end": 60,
    "window_used": 0.25,
    "losses": 1,
    "is_frozen": True,
}


def report(**fields: object) -> LoaderReport:
    return LoaderReport.from_json(json.dumps(json.loads(REPORT.to_json()) | fields))


def served(*collectors: FeedCollector | CountsCollector) -> dict[str, float]:
    registry = CollectorRegistry()
    for collector in collectors:
        registry.register(collector)
    lines = generate_latest(registry).decode().splitlines()
    samples = [line.rpartition(" ") for line in lines if not line.startswith("#")]
    return {name: float(value) for name, _, value in samples}


def reported(**fields: object) -> dict[str, float]:
    found = served(FeedCollector(lambda: [report(**fields)]))
    return {name.removesuffix(OF_REPORT): value for name, value in found.items()}


def counts_of(*loader_counts: LoaderCounts) -> CountsCollector:
    """Returns a collector that began before these loaders."""
    found: dict[str, LoaderTotals] = {}
    collector = CountsCollector(lambda: found)
    collector.look()
    found |= {each.id: each.totals("flights", "west regional") for each in loader_counts}
    return collector


def all_counted() -> LoaderCounts:
    """Returns a loader_counts in which every counter has a value."""
    loader_counts = LoaderCounts()
    loader_counts.show_partition(TopicPartition("t", 3))
    loader_counts.show_table("t", "hits")
    for counter in COUNTERS:
        loader_counts.add(counter, *(f"any {label}" for label in counter.labels))
    return loader_counts


@pytest.fixture(scope="module")
def names() -> set[str]:
    """Names of all metrics that a feed without anything unknown exports."""
    full = served(FeedCollector(lambda: [report(**KNOWN)]), counts_of(all_counted()))
    return {name.partition("{")[0] for name in full}


@pytest.mark.parametrize("name", sorted({*COUNTERPARTS.values(), *MORE}))
def test_each_metric_of_the_block_aggregator_has_a_counterpart_that_is_served_and_explained(
    names, name
):
    assert name in names
    assert name in EXPLAINED


def test_no_metric_of_the_block_aggregator_is_forgotten():
    listed = """
        offset_commit_{time,failed}, committed_offset, offset_processed,
        messages_{processed,ignored,replayed,replay_ignored}, replay_skipped,
        offset_{went_backward,reset,larger_than_expected}, message_rewound, abnormal_message,
        metadata_committed_by_other, commit_finally_failed, partitions_{assigned,rebalance_time},
        loop_restarted, wrong_format, block_loading_{time,retries}, {bytes,rows}_in_blocks,
        errors_from_clickhouse, blocks_not_persisted, end_to_end_lag,
        schema_{fetches,changes,failures}, quorum_{waits,contention}, freeze_status
    """
    assert set(expanded(listed)) == COUNTERPARTS.keys()


def expanded(listed: str) -> list[str]:
    """Returns names, those in braces written out."""
    found = []
    for word in listed.replace("\n", " ").split(", "):
        head, brace, rest = word.strip().partition("{")
        inner, _, tail = rest.partition("}")
        found += [f"{head}{each}{tail}" for each in inner.split(",")] if brace else [head]
    return found


def test_every_label_that_the_page_names_for_a_reason_is_one_that_is_counted():
    counted = LoaderCounts().totals("f", "c").counts
    for counter in (COMMIT_FAILURES, RESTARTS, LOSSES):
        for (value,) in counted[counter.name]:
            assert f"`{value}`" in PAGE, (counter.name, value)


def test_what_is_known_of_a_partition_is_served():
    found = reported(**KNOWN)
    assert found["sluice_feed_committed_offset"] == 38
    assert found["sluice_feed_lag_records"] == 20
    assert found["sluice_feed_lag_seconds"] == 1.5
    assert found["sluice_feed_window_used"] == 0.25
    assert found["sluice_feed_losses_accepted"] == 1
    assert found["sluice_feed_frozen"] == 1
    assert found["sluice_feed_reports_up"] == 1


def test_a_report_of_an_older_version_lacks_samples_and_nothing_is_0_instead():
    old = json.loads(REPORT.to_json())
    for name in ("committed", "source_end", "window_used", "losses", "is_frozen"):
        del old[name]
    found = served(FeedCollector(lambda: [LoaderReport.from_json(json.dumps(old))]))
    shown = {name.partition("{")[0] for name in found}
    assert "sluice_feed_position" in shown
    assert not shown & {
        "sluice_feed_committed_offset",
        "sluice_feed_lag_records",
        "sluice_feed_lag_seconds",
        "sluice_feed_window_used",
        "sluice_feed_losses_accepted",
        "sluice_feed_frozen",
    }


@pytest.mark.parametrize(
    ("tables", "in_flight", "held", "intent_seconds"),
    [
        ({}, 0, 0, 0.0),
        ({"a": TableReport("buffering", 1000)}, 0, 0, 0.0),
        ({"a": TableReport("loading", 90_000), "b": TableReport("loading", 70_000)}, 2, 0, 30.0),
        ({"a": TableReport("held: too many parts", 40_000)}, 1, 1, 60.0),
    ],
)
def test_blocks_under_way_are_counted_and_a_held_one_is_as_old_as_another(
    tables, in_flight, held, intent_seconds
):
    found = reported(tables={name: asdict(each) for name, each in tables.items()})
    assert found["sluice_feed_blocks_in_flight"] == in_flight
    assert found["sluice_feed_tables_held"] == held
    assert found["sluice_feed_intent_seconds"] == intent_seconds


@pytest.mark.parametrize(
    ("lag_seconds", "since_ms", "seconds"),
    [(1.5, None, 1.5), (0.0, None, 0.0), (1.5, 40_000, 60.0), (90.0, 40_000, 90.0)],
)
def test_lag_grows_while_records_wait_however_fast_the_last_ones_were(
    lag_seconds, since_ms, seconds
):
    tables = {} if since_ms is None else {"a": {"state": "loading", "since_ms": since_ms}}
    assert reported(lag_seconds=lag_seconds, tables=tables)["sluice_feed_lag_seconds"] == seconds


def test_partitions_are_counted_by_their_loader_and_parked_ones_are_nobodys():
    reports = [report(), report(partition=4), report(partition=5, parked="lost"), report(loader=2)]
    found = served(FeedCollector(lambda: reports))
    held = '{cluster="west regional",feed="flights",loader="%d"}'
    assert found[f"sluice_feed_partitions{held % 1}"] == 2
    assert found[f"sluice_feed_partitions{held % 2}"] == 1


def test_counters_of_loaders_are_added_up():
    first, second = LoaderCounts(), LoaderCounts()
    first.add(ROWS, "t", "hits", amount=5)
    second.add(ROWS, "t", "hits", amount=7)
    second.add(INSERT_ERRORS, "t", "hits", "286")
    found = served(counts_of(first, second))
    of_table = 'cluster="west regional",feed="flights",table="hits",topic="t"'
    assert found[f"sluice_feed_rows_total{{{of_table}}}"] == 12
    of_code = of_table.replace("feed=", 'code="286",feed=').replace('cluster="west regional",', "")
    assert found[f'sluice_feed_insert_errors_total{{cluster="west regional",{of_code}}}'] == 1


def test_counters_stay_while_redis_is_away():
    loader_counts = LoaderCounts()
    loader_counts.add(ROWS, "t", "hits", amount=5)
    answers: Iterator[dict[str, LoaderTotals]] = iter(
        [{}, {loader_counts.id: loader_counts.totals("f", "c")}]
    )

    def totals() -> dict[str, LoaderTotals]:
        try:
            return next(answers)
        except StopIteration:
            raise OSError("away") from None

    collector = CountsCollector(totals)
    collector.look()
    before = served(collector)
    assert any(name.startswith("sluice_feed_rows_total") for name in before)
    assert served(collector) == before


def test_without_reports_only_their_absence_is_served():
    def away() -> list[LoaderReport]:
        raise OSError("away")

    assert served(FeedCollector(away)) == {"sluice_feed_reports_up": 0}


# -- Counters of feeds grow by what each loader counted, once, however often it is read.

HITS = ("flights", "west regional", "t", "hits")


def totals(rows, **more):
    return LoaderTotals("flights", "west regional", {ROWS.name: {("t", "hits"): rows}, **more})


def sums(counting, counter):
    return counting.sums().get(counter.name, {})


def begun():
    counting = Counting()
    counting.add({}, 0.0)
    return counting


def test_what_was_counted_before_the_process_began_does_not_count():
    counting = Counting()
    counting.add({"a": totals(10)}, 0.0)
    assert sums(counting, ROWS) == {}
    counting.add({"a": totals(13), "b": totals(2)}, 1.0)
    assert sums(counting, ROWS) == {HITS: 5}


def test_a_takeover_does_not_set_a_counter_back():
    counting = begun()
    counting.add({"a": totals(10)}, 0.0)
    counting.add({"b": totals(1)}, 1.0)
    assert sums(counting, ROWS) == {HITS: 11}


def test_a_counter_that_is_0_has_a_sample():
    counting = begun()
    counting.add({"a": totals(0)}, 0.0)
    assert sums(counting, ROWS) == {HITS: 0}


def test_a_counter_that_no_loader_wrote_has_none():
    counting = begun()
    counting.add({"a": totals(1)}, 0.0)
    assert sums(counting, COMMITS) == {}


def test_a_counter_with_other_labels_is_left_out():
    counting = begun()
    counting.add({"a": totals(1, **{COMMITS.name: {("of a later version",): 3.0}})}, 0.0)
    assert sums(counting, COMMITS) == {}
    assert sums(counting, ROWS) == {HITS: 1}
