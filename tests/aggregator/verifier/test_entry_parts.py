"""Entries that lie in several groups, read from several logs in any order."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.verifier.cluster_judge import ClusterJudge
from aggregator.verifier.finding import Kind, Weight
from aggregator.verifier.group_commit import GroupCommit
from replicator.config.cluster_name import ClusterName
from replicator.config.names import PLAN_TOPIC, upsert_group
from replicator.kafka.protocol.commit_record import Committed
from replicator.kafka.tail.tail_position import Portion, TailPosition, Version, VersionedRecord
from tests.aggregator.verifier.ticks import commits, long_tick, owners, tick

PARTS = len(commits(long_tick(1)))
SKEW_MS = 10
OWNERS = owners(PARTS + 1)
FIRST = long_tick(1, 1)


def group(number):
    return upsert_group("flights", "status", number)


class Logs:
    """Partitions of `__consumer_offsets`, one for each part, and a judge that reads them."""

    def __init__(self, judge=None):
        self.records = [[] for _ in range(PARTS + 1)]
        self.read = [0] * (PARTS + 1)
        self.judge = judge or ClusterJudge(ClusterName.regional("west"), OWNERS, SKEW_MS)
        self.judge.begin({each: TailPosition("id", 0) for each in range(PARTS + 1)})

    def put(self, number, commit, at_ms=1_000, topic=PLAN_TOPIC, partition=0):
        committed = Committed(group(number), topic, partition)
        at_ms = commit.at_ms if commit else at_ms
        self.records[number].append(GroupCommit(committed, commit, at_ms))

    def commit(self, of, at_ms=1_000, parts=None):
        """Commits a tick, or only some of its parts."""
        for number, part in enumerate(commits(of, at_ms)):
            if parts is None or number in parts:
                self.put(number, part)

    def take(self, number, count=None, *, caught_up_ms=None):
        """Reads some records of a log."""
        begin = self.read[number]
        end = len(self.records[number]) if count is None else begin + count
        told = tuple(
            VersionedRecord(Version(0, each), self.records[number][each])
            for each in range(begin, end)
            if self.records[number][each] is not None
        )
        self.read[number] = end
        position = TailPosition("id", 0)
        portion = Portion(
            position._replace(offset=begin), position._replace(offset=end), told, caught_up_ms
        )
        return [*self.judge.take(number, portion)]

    def take_all(self, caught_up_ms=None):
        return [
            found
            for number in range(PARTS + 1)
            for found in self.take(number, caught_up_ms=caught_up_ms)
        ]

    def compact(self, number, at):
        self.records[number][at] = None


def kinds(judgements):
    return [(each.kind, each.weight) for it in judgements for each in it.findings]


def test_a_tick_is_judged_once_its_last_part_is_read():
    logs = Logs()
    logs.commit(FIRST)
    logs.commit(long_tick(3))
    assert PARTS > 1
    found = [each for number in reversed(range(PARTS + 1)) for each in logs.take(number)]
    assert kinds(found)[0] == (Kind.GAP, Weight.ANOMALY)
    assert logs.judge.judged == {"table flights.status": 2}
    assert logs.judge.partitions == {"table flights.status": 1}
    assert str(found[0].subject) == "table flights.status sluice.plan-0 in west regional"


@given(st.data())
def test_in_whatever_order_logs_are_read_the_ticks_are_judged_in_theirs(data):
    logs = Logs()
    for number in range(1, 6):
        logs.commit(long_tick(number))
    order = data.draw(st.permutations([each for each in range(PARTS) for _ in range(5)]))
    assert not [found for number in order for found in logs.take(number, 1)]
    assert logs.judge.judged == {"table flights.status": 5}
    assert not [*logs.judge.end()]


def test_longer_and_shorter_ticks_follow_each_other():
    logs = Logs()
    for number, lanes in enumerate([1, 400, 1, 400, 400], 1):
        logs.commit(long_tick(number, lanes))
    found = [each for number in range(PARTS + 1) for each in logs.take(number)]
    # 400 lanes joined, and left, and joined again.
    assert {each.text for it in found for each in it.findings} == {"number of lanes 1 after 400"}
    assert logs.judge.judged == {"table flights.status": 5}


def test_what_a_longer_tick_left_may_expire():
    logs = Logs()
    for number, lanes in ((1, 400), (2, 1)):
        logs.commit(long_tick(number, lanes))
    logs.put(1, None, 2_000)
    assert {each.text for it in logs.take_all(9_000) for each in it.findings} == {
        "number of lanes 1 after 400"
    }


def torn_by_deletion(logs):
    logs.put(1, None, 2_000)


def torn_by_another(logs):
    logs.put(1, commits(long_tick(9), 2_000)[1])


def torn_by_nonsense(logs):
    logs.put(1, replace(commits(long_tick(1), 2_000)[1], metadata="mine"))


@pytest.mark.parametrize("tear", [torn_by_deletion, torn_by_another, torn_by_nonsense])
def test_a_part_that_is_not_of_its_tick_speaks_once(tear):
    logs = Logs()
    logs.commit(long_tick(1))
    tear(logs)
    assert not logs.take_all(2_000 + SKEW_MS), "the rest of the commit may be on its way"
    assert kinds(logs.take_all(2_011 + SKEW_MS)) == [(Kind.UNREADABLE, Weight.ANOMALY)]
    assert not logs.take_all(9_000)
    assert not [*logs.judge.end()]
    logs.commit(long_tick(2), 9_500)
    assert kinds(logs.take_all(20_000)) == [(Kind.UNSEEN, Weight.UNKNOWN)]


def test_a_part_that_was_never_committed_speaks():
    logs = Logs()
    logs.commit(long_tick(1), parts=[0])
    (found,) = logs.take_all(9_000)
    assert found.findings[0].text == f"part 1 of {PARTS} is not there"


def test_a_part_that_is_not_there_at_the_end_of_a_check_is_unknown():
    logs = Logs()
    logs.commit(long_tick(1), parts=[0])
    assert not logs.take_all(1_000)
    assert kinds(logs.judge.end()) == [(Kind.UNREADABLE, Weight.UNKNOWN)]


def test_a_tick_that_vanished_speaks_once():
    logs = Logs()
    logs.commit(long_tick(1))
    for number in range(PARTS):
        logs.put(number, None, 2_000)
    assert kinds(logs.take_all(9_000)) == [(Kind.VANISHED, Weight.ANOMALY)]


def test_a_first_part_that_cannot_be_read_speaks():
    logs = Logs()
    logs.commit(FIRST)
    logs.put(0, replace(commits(tick(2, (10, 11)))[0], metadata="mine"))
    assert kinds(logs.take_all(9_000)) == [(Kind.UNREADABLE, Weight.ANOMALY)]


def test_offsets_of_other_topics_in_the_groups_are_no_ticks():
    logs = Logs()
    logs.put(0, commits(FIRST)[0], topic="departures")
    logs.put(0, commits(FIRST)[0], partition=1)
    assert not logs.take_all(9_000)
    assert not logs.judge.judged


def test_ticks_whose_parts_were_compacted_away_are_not_seen_and_no_gap():
    logs = Logs()
    for number in (1, 2, 3, 4):
        logs.commit(long_tick(number))
    logs.compact(1, 1)
    logs.compact(1, 2)
    assert kinds(logs.take_all(9_000)) == [(Kind.UNSEEN, Weight.UNKNOWN)]
    assert logs.judge.judged == {"table flights.status": 2}


def test_a_verifier_that_starts_anew_knows_the_parts_that_it_had_read():
    logs = Logs()
    logs.commit(long_tick(1))
    logs.commit(long_tick(2))
    for number in range(1, PARTS + 1):
        logs.take(number)
    logs.take(0, 1)
    later = ClusterJudge(ClusterName.regional("west"), OWNERS, SKEW_MS)
    later.restore(logs.judge.positions, logs.judge.stored())
    begins = later.begins()
    later.begin(begins)
    logs.judge = later
    logs.read = [begins[each].offset for each in range(PARTS + 1)]
    assert not [it for it in logs.take_all(9_000) if it.findings[0].kind is not Kind.UNSEEN]
    logs.commit(long_tick(3), 9_100)
    assert not logs.take_all(9_900)
    assert later.judged["table flights.status"] == 2


def test_a_verifier_that_starts_anew_sees_the_last_tick_again():
    logs = Logs()
    logs.commit(long_tick(1))
    logs.take_all(2_000)
    later = ClusterJudge(ClusterName.regional("west"), OWNERS, SKEW_MS)
    later.restore(logs.judge.positions, logs.judge.stored())
    begins = later.begins()
    later.begin(begins)
    logs.judge = later
    logs.read = [begins[each].offset for each in range(PARTS + 1)]
    logs.commit(long_tick(2), 2_500)
    assert not logs.take_all(9_000)
    logs.commit(long_tick(4), 9_100)
    assert kinds(logs.take_all(9_900))[0] == (Kind.GAP, Weight.ANOMALY)


@given(st.data())
def test_compaction_in_any_order_of_reading_is_no_anomaly(data):
    """Compaction removes superseded records, the oldest first, from each log at its own time."""
    logs = Logs()
    for number in range(1, 6):
        logs.commit(long_tick(number))
    for part in range(PARTS):
        for at in range(data.draw(st.integers(0, 4))):
            logs.compact(part, at)
    order = data.draw(st.permutations([each for each in range(PARTS) for _ in range(5)]))
    found = [it for number in order for it in logs.take(number, 1)]
    found += [*logs.take_all(90_000), *logs.judge.end()]
    assert not [it for it in found if it.findings[0].weight is Weight.ANOMALY]
    assert logs.judge.judged["table flights.status"] >= 1
    assert [it.after.offset for it in found if it.after] == sorted(it.after.offset for it in found)
