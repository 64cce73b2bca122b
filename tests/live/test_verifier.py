"""`sluice verify` on a real cluster: each planted anomaly is found, and nothing else."""

from __future__ import annotations

import signal
import time
from dataclasses import replace

import pytest

from aggregator.intents import intent_store
from aggregator.intents.table_range import TableRange
from aggregator.verifier.anomaly_board import AnomalyBoard
from balancer.topic_partition import TopicPartition
from deploy.lab.wait import until
from replicator.kafka.client.custody import Custody
from tests.aggregator.verifier.entries import LOSS, adopted, block, carried, held
from tests.live.topics import alter, delete
from tests.live.verified import PATIENCE_SECONDS, Verified


@pytest.fixture
def make_verified(tmp_path, aggregate, redis, opened):
    """`make_verified(partitions=3, settings="...")`: a feed and a route in the shared cluster."""

    def make(cluster=aggregate, **options: object) -> Verified:
        return opened.enter_context(Verified(tmp_path, cluster, redis, **options))

    return make


# A block [10, 20) of one table, of which all records since offset 0 are counted.
BLOCK = held(offset=10, tables=block(10, 20), count=20)
BEGIN = [held(offset=0, count=0), held(offset=0, tables=block(0, 10), count=10), BLOCK]
FLUSH = held(offset=20, count=20, up_to=20)
NEXT = held(offset=20, reference=20, count=0)


def ranged(begin, end, **fields):
    return held(**{"offset": begin, "tables": block(begin, end), "count": 30, **fields})


def marked(at, **fields):
    tables = {"flights": TableRange(at, at)}
    return held(**{"offset": 10, "tables": tables, "count": 20, **fields})


RIGHT = [
    [BLOCK, BLOCK, replace(BLOCK, leader_epoch=3)],
    [BLOCK, ranged(20, 30), held(offset=30, count=30)],
    [BLOCK, marked(20), ranged(21, 30, offset=10)],
    [BLOCK, held(offset=20, count=20), FLUSH, FLUSH, NEXT],
    [BLOCK, held(offset=23, count=20, holes=3), held(offset=23, count=20, holes=3, up_to=23)],
    [BLOCK, replace(BLOCK, custody=Custody.RELEASED, transactional_id="free"), BLOCK],
]
WRONG = [
    # (history, kinds of findings about its last entry)
    ([BLOCK, ranged(19, 30)], ["overlap"]),
    ([BLOCK, ranged(11, 12)], ["overlap"]),
    ([BLOCK, ranged(10, 19)], ["overlap"]),
    ([BLOCK, ranged(10, 21)], ["overlap"]),
    ([BLOCK, ranged(9, 30)], ["overlap", "backward"]),
    ([BLOCK, ranged(9, 10)], ["backward", "backward"]),
    ([BLOCK, ranged(0, 1)], ["backward", "backward"]),
    ([BLOCK, marked(19)], ["overlap"]),
    ([BLOCK, marked(11)], ["overlap"]),
    ([BLOCK, held(offset=19, count=20)], ["overlap"]),
    ([BLOCK, held(offset=10, count=20)], ["backward"]),
    ([marked(20), ranged(19, 20, offset=10)], ["backward"]),
    ([marked(20), ranged(19, 21, offset=10)], ["overlap"]),
    ([held(offset=20, count=20), held(offset=19, count=20)], ["backward"]),
    ([held(offset=20, count=20), held(offset=21, count=21)], ["gap"]),
    ([held(offset=20, count=20), held(offset=23, count=23, holes=2)], ["gap"]),
    ([BLOCK, replace(FLUSH, count=19)], ["gap"]),
    ([BLOCK, replace(FLUSH, count=21)], ["surplus"]),
    ([BLOCK, replace(FLUSH, holes=1)], ["surplus"]),
    ([FLUSH, replace(NEXT, reference=19)], ["gap"]),
    ([FLUSH, replace(NEXT, reference=21)], ["gap"]),
    ([FLUSH, replace(NEXT, offset=21)], ["gap"]),
    ([BLOCK, replace(BLOCK, count=19), replace(FLUSH, count=19)], ["gap", "gap"]),
    ([BLOCK.park(LOSS), BLOCK], ["custody"]),
    ([replace(BLOCK, losses=1), BLOCK], ["turned-back"]),
    ([BLOCK, adopted()], ["restarted"]),
    ([BLOCK, (20, "rubbish")], ["unreadable"]),
]
EXPLAINED = [
    ([BLOCK.park(LOSS), held(offset=50, reference=50, count=0, losses=1)], ["loss", "gap"]),
    ([BLOCK.park(LOSS), held(offset=5, reference=5, count=0, losses=1)], ["loss"]),
]


def committed(verified, histories):
    """Commits histories, each in a partition of its own, one entry of all at a time."""
    first = adopted(topic_id=None)
    verified.commit(dict.fromkeys(range(len(histories)), first))
    for at in range(max(map(len, histories))):
        step = {}
        for number, entries in enumerate(histories):
            if at >= len(entries):
                continue
            entry = entries[at]
            is_own = not isinstance(entry, tuple) and entry.producer_id >= 0
            freed = {"transactional_id": "free"} if is_own and entry.custody != "held" else {}
            step[number] = verified.by(entry, topic_id=None, **freed) if is_own else entry
        verified.commit(step)


def test_every_anomaly_at_every_boundary_is_found_and_a_right_history_is_silent(make_verified):
    histories = [*RIGHT, *(entries for entries, _ in WRONG)]
    whole = [[*BEGIN, *entries] for entries in histories]
    verified = make_verified(partitions=len(whole))
    committed(verified, whole)
    code, found = verified.check("--since", "1h")
    kinds = verified.kinds(found)
    for number, (entries, expected) in enumerate(WRONG, len(RIGHT)):
        anomalies = [kind for kind, weight in kinds[number] if weight == "anomaly"]
        assert sorted(anomalies) == sorted(expected), (number, entries, kinds[number])
    assert not kinds.keys() & set(range(len(RIGHT)))
    assert code == 9
    (row, _) = sorted(found["rows"], key=lambda row: -row["partitions"])
    assert row["of"] == f"feed {verified.feed}"
    assert row["partitions"] == len(whole)
    assert row["entries"] == len(whole) + sum(map(len, whole))


def test_what_an_operator_accepted_is_named_and_is_no_anomaly(make_verified):
    whole = [[*BEGIN, *entries] for entries, _ in EXPLAINED]
    verified = make_verified(partitions=len(whole))
    committed(verified, whole)
    code, found = verified.check()
    kinds = verified.kinds(found)
    for number, (_, expected) in enumerate(EXPLAINED):
        assert {kind for kind, _ in kinds[number]} >= set(expected)
        assert {weight for _, weight in kinds[number]} == {"accepted"}
    assert code == 0


VIRGIN = carried(
    custody=Custody.VIRGIN,
    source_offset=0,
    target_offset=50,
    producer_id=-1,
    epoch=-1,
    sequence=0,
    transactional_id="free",
)
LEDGER = [
    (carried(source_offset=130, target_offset=230, sequence=80), []),
    (carried(custody=Custody.RELEASED, transactional_id="free"), []),
    (carried(source_offset=99), ["turned-back"]),
    (carried(target_offset=199), ["turned-back"]),
    (carried(sequence=49), ["sequence"]),
    (carried(sequence=51), ["sequence"]),
    (replace(VIRGIN, target_offset=300), ["restarted"]),
]


@pytest.mark.core
def test_entries_of_the_ledger_are_judged_as_well(make_verified):
    verified = make_verified(partitions=len(LEDGER))
    for before in (VIRGIN, carried()):
        verified.commit(dict.fromkeys(range(len(LEDGER)), before))
    verified.commit(dict(enumerate(entry for entry, _ in LEDGER)))
    code, found = verified.check()
    kinds = verified.kinds(found)
    expected = {at: [(kind, "anomaly") for kind in each] for at, (_, each) in enumerate(LEDGER)}
    assert kinds == {at: each for at, each in expected.items() if each}
    assert {each["of"] for each in found["findings"]} == {f"route west>{verified.region}"}
    assert code == 9


def test_offsets_of_an_aborted_transaction_are_nobodys_entries(make_verified):
    verified = make_verified(partitions=1)
    committed(verified, [BEGIN])
    verified.abort({0: verified.by(ranged(0, 5), topic_id=None)})
    verified.commit({0: verified.by(held(offset=20, count=20), topic_id=None)})
    code, found = verified.check()
    assert (code, found["findings"]) == (0, [])


def test_entries_that_vanish_are_found_unless_their_topic_vanished(make_verified, aggregate):
    lost, deleted = make_verified(partitions=1), make_verified(partitions=1)
    for each in (lost, deleted):
        committed(each, [BEGIN])
    group = intent_store.group_of(lost.feed, TopicPartition(lost.topic, 0))
    admin = aggregate.admin()
    admin.delete_consumer_groups([group])[group].result(30)
    delete(aggregate, deleted.topic)

    def vanished(verified):
        code, found = verified.check()
        return found["findings"] and (code, verified.kinds(found))

    assert vanished(lost) == (9, {0: [("vanished", "anomaly")]})
    explained = (0, {0: [("vanished", "accepted")]})
    assert until(lambda: vanished(deleted) == explained, PATIENCE_SECONDS)


def test_a_fenced_producer_that_commits_in_another_group_is_found(make_verified):
    verified = make_verified(partitions=8, settings="skew_seconds = 0.1")
    groups = {
        at: intent_store.group_of(verified.feed, TopicPartition(verified.topic, at))
        for at in range(8)
    }
    other = next(at for at, group in groups.items() if group != groups[0])
    verified.commit(dict.fromkeys((0, other), adopted()))
    verified.commit({0: verified.by(held(offset=0, count=0), epoch=7)})
    newer_at = time.time()
    assert until(lambda: time.time() > newer_at + 0.2, 5)
    verified.commit({other: verified.by(held(offset=0, count=0), epoch=6)})
    code, found = verified.check()
    assert (code, verified.kinds(found)) == (9, {other: [("epoch", "anomaly")]})


def test_entries_from_before_the_time_asked_for_are_predecessors_only(make_verified):
    verified = make_verified(partitions=1)
    committed(verified, [[*BEGIN, ranged(9, 30)]])
    began = time.time()
    assert until(lambda: time.time() > began + 1.1, 5)
    since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(began + 1))
    verified.commit({0: verified.by(ranged(30, 40, count=99), topic_id=None)})
    code, found = verified.check("--since", since)
    assert (code, found["findings"]) == (0, [])
    verified.commit({0: verified.by(ranged(39, 50, count=99), topic_id=None)})
    code, found = verified.check("--since", since)
    assert (code, verified.kinds(found)) == (9, {0: [("overlap", "anomaly")]})


def test_a_cluster_that_cannot_be_reached_ends_the_check_with_3(make_verified):
    verified = make_verified(partitions=1)
    text = verified.config.read_text()
    verified.config.write_text(text.replace(f'"{verified.region} aggregate"', '"west regional"'))
    code, found = verified.check("--timeout", "2")
    assert code == 3
    assert any("west regional" in problem for problem in found["problems"]), found["problems"]


# -- the daemon


def is_judged(verified, at_ms):
    judged = verified.metric("sluice_verify_judged_timestamp_seconds")
    return judged is not None and judged * 1000 >= at_ms


def until_judged(verified):
    now_ms = time.time_ns() // 1_000_000
    assert until(lambda: is_judged(verified, now_ms), PATIENCE_SECONDS)


@pytest.mark.core
def test_the_daemon_reports_each_anomaly_once_also_over_a_kill(make_verified, redis):
    verified = make_verified(partitions=3)
    committed(verified, [BEGIN] * 3)
    daemon = verified.start()
    until_judged(verified)
    assert not verified.events(daemon, "anomaly")
    verified.commit({0: verified.by(ranged(19, 30), topic_id=None)})
    assert until(lambda: verified.events(daemon, "anomaly"), PATIENCE_SECONDS)
    (line,) = verified.events(daemon, "anomaly")
    assert f"kind=overlap feed {verified.feed} {verified.topic}-0 in" in line
    assert "before: offset=10 " in line and "after: offset=19 " in line
    of_kind = {"kind": "overlap", "weight": "anomaly"}
    assert verified.metric("sluice_verify_findings_total", **of_kind) == 1
    assert verified.metric("sluice_verify_anomalies_total") == 1
    with AnomalyBoard(redis.url, verified.region) as board:
        assert until(board.recent, PATIENCE_SECONDS)
        (row,) = board.recent()
    assert (row["topic"], row["partition"]) == (verified.topic, 0)
    assert row["before"]["offset"] == 10 and row["after"]["offset"] == 19

    kept = verified.directory / "state" / "verifier" / verified.region
    file = kept / f"{verified.region}.aggregate.json"
    verified.commit({2: verified.by(held(offset=20, count=20), topic_id=None)})
    last = f'"{verified.topic}",2,'

    def is_kept() -> bool:
        text = file.read_text() if file.exists() else ""
        return last in text and text.partition(last)[2].partition("[20,")[1] != ""

    assert until(is_kept, PATIENCE_SECONDS)
    daemon.kill()
    verified.commit({1: verified.by(ranged(9, 30), topic_id=None)})
    again = verified.start()
    until_judged(verified)
    assert [line.count(f"{verified.topic}-1") for line in verified.events(again, "anomaly")] == [1]
    assert not verified.events(again, "entries-unknown", "not-judged", "history-unreadable")
    again.send(signal.SIGTERM)
    assert again.wait(15) == 0


def test_a_held_partition_that_is_not_renewed_is_stale_until_it_is(make_verified):
    verified = make_verified(
        partitions=2,
        settings="stale_seconds = 2.0",
        feed_settings="block_seconds = 0.5\nreference_seconds = 1.0",
    )
    committed(verified, [BEGIN, [*BEGIN, RIGHT[5][1]]])
    daemon = verified.start()
    assert until(lambda: verified.events(daemon, "anomaly"), PATIENCE_SECONDS)
    (line,) = verified.events(daemon, "anomaly")
    assert "kind=stale" in line and f"{verified.topic}-0" in line
    assert verified.metric("sluice_verify_partitions_stale") == 1
    verified.commit({0: verified.by(replace(BLOCK, leader_epoch=4), topic_id=None)})
    assert until(lambda: verified.metric("sluice_verify_partitions_stale") == 0, 1.5)


def test_without_redis_the_daemon_judges_on_and_drops_what_does_not_fit(
    make_verified, make_redis, tmp_path
):
    away = make_redis()
    verified = make_verified(partitions=1)
    text = verified.config.read_text()
    verified.config.write_text(text.replace(verified.redis.url, away.url))
    away.kill()
    committed(verified, [[*BEGIN, ranged(9, 30)]])
    daemon = verified.start()
    assert until(lambda: verified.events(daemon, "board-unreachable"), PATIENCE_SECONDS)
    assert len(verified.events(daemon, "anomaly")) == 1
    away.start()
    away.wait_ready()
    with AnomalyBoard(away.url, verified.region) as board:
        assert until(board.recent, PATIENCE_SECONDS)


OFFSETS = "__consumer_offsets"


def test_what_compaction_removed_while_nobody_read_is_unknown_and_no_alarm(
    make_cluster, make_verified
):
    cluster = make_cluster("compacts", properties={"log.cleaner.backoff.ms": 100})
    verified = make_verified(cluster, partitions=2)
    committed(verified, [BEGIN] * 2)
    daemon = verified.start()
    until_judged(verified)
    daemon.send(signal.SIGTERM)
    assert daemon.wait(15) == 0
    quick = {
        "segment.ms": "100",
        "min.cleanable.dirty.ratio": "0.001",
        "min.compaction.lag.ms": "0",
    }
    alter(cluster, OFFSETS, quick)
    offset = 20

    def is_compacted() -> bool:
        """Commits until the cleaner has removed the last entry that the daemon has seen."""
        nonlocal offset
        entry = ranged(offset, offset + 10, count=offset + 10)
        verified.commit({0: verified.by(entry, topic_id=None)})
        offset += 10
        _, found = verified.check()
        first = [each for each in found["findings"] if each["partition"] == 0]
        return bool(first) and first[0]["after"]["offset"] > 10

    assert until(is_compacted, 2 * PATIENCE_SECONDS, every_seconds=0.3)
    again = verified.start()
    until_judged(verified)
    assert not verified.events(again, "anomaly")
    assert until(lambda: verified.events(again, "entries-unknown"), PATIENCE_SECONDS)
    assert verified.metric("sluice_verify_findings_total", kind="unseen", weight="unknown")
    verified.commit({0: verified.by(held(offset=offset - 20, count=offset), topic_id=None)})
    assert until(lambda: verified.events(again, "anomaly"), PATIENCE_SECONDS)
