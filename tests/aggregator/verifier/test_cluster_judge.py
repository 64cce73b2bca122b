"""Judge of one cluster: histories of all its partitions, over restarts, cuts and recreations."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aggregator.verifier.cluster_judge import LOOK_BACK_RECORDS, ClusterJudge
from aggregator.verifier.finding import Kind, Weight
from aggregator.verifier.group_commit import GroupCommit
from aggregator.verifier.intent_rules import IntentRules
from aggregator.verifier.ledger_rules import LedgerRules
from aggregator.verifier.owners import Owner
from replicator.config.cluster_name import ClusterName
from replicator.kafka.protocol.commit_record import Committed
from replicator.kafka.tail.tail_position import Portion, TailPosition, Version, VersionedRecord
from tests.aggregator.verifier.entries import TOPIC_ID, adopted, carried, commit, held

FEED, OTHER, ROUTE = "sluice.feed.flights.0", "sluice.feed.flights.1", "sluice.west.east.2"
OWNERS = {
    FEED: Owner("feed flights", IntentRules()),
    OTHER: Owner("feed flights", IntentRules()),
    ROUTE: Owner("route west>east", LedgerRules()),
}
SKEW_MS = 10


def new_judge(**fields):
    judge = ClusterJudge(ClusterName.regional("west"), OWNERS, SKEW_MS, **fields)
    judge.begin({0: TailPosition("id", 0), 1: TailPosition("id", 0)})
    return judge


def record(entry, at, *, group=FEED, topic="topic", partition=0, era=0, at_ms=1_000, flaw=""):
    value = None if entry is None or flaw else commit(entry, at_ms)
    found = GroupCommit(Committed(group, topic, partition), value, at_ms, flaw)
    return VersionedRecord(Version(era, at), found)


def portion(judge, number, *records, caught_up_ms=None, end=None):
    begin = judge.positions[number]
    last = records[-1].version if records else Version(begin.era, begin.offset - 1)
    end = end or TailPosition("id", last.era, last.log_offset + 1, 3)
    return Portion(begin, end, records, caught_up_ms)


def take(judge, number, *records, **fields):
    return [*judge.take(number, portion(judge, number, *records, **fields))]


def kinds(judgements):
    return [(each.kind, each.weight) for it in judgements for each in it.findings]


def test_a_judgement_holds_both_entries_and_names_its_partition():
    judge = new_judge()
    (found,) = take(judge, 0, record(adopted(), 0), record(held(offset=11), 1, at_ms=1_500))
    assert str(found.subject) == "feed flights topic-0 in west regional"
    assert (found.before, found.after) == (commit(adopted()), commit(held(offset=11), 1_500))
    assert found.at_ms == 1_500
    assert kinds([found]) == [(Kind.GAP, Weight.ANOMALY)]
    assert judge.judged == {"feed flights": 2}
    assert judge.partitions == {"feed flights": 1}
    assert judge.kinds == {(Kind.GAP, Weight.ANOMALY): 1}


def test_feeds_and_routes_are_judged_by_their_own_rules():
    judge = new_judge()
    found = take(judge, 0, record(carried(), 0, group=ROUTE), record(carried(), 1, group=ROUTE))
    assert kinds(found) == [(Kind.UNSEEN, Weight.UNKNOWN)]
    assert judge.partitions == {"route west>east": 1}


def test_partitions_are_judged_each_by_itself():
    judge = new_judge()
    found = take(
        judge,
        0,
        record(adopted(), 0),
        record(adopted(offset=90, reference=90), 1, partition=1),
        record(held(offset=0, count=0), 2),
        record(adopted(offset=50, reference=50), 3, topic="other"),
    )
    assert not found
    assert judge.partitions == {"feed flights": 3}


def test_own_topics_and_strange_groups_are_passed_over():
    judge = new_judge()
    strange = record(held(), 0, group="sluice.feed.strange.0")
    assert not take(judge, 0, strange, record(held(), 1, topic="sluice.plan"))
    assert not judge.partitions


def test_a_commit_in_a_format_of_tomorrow_is_unreadable():
    judge = new_judge()
    found = take(judge, 0, record(adopted(), 0), record(None, 1, flaw="format 9"))
    assert kinds(found) == [(Kind.UNREADABLE, Weight.ANOMALY)]
    assert kinds(take(judge, 0, record(held(), 2))) == [(Kind.UNSEEN, Weight.UNKNOWN)]


# -- deletions


def test_an_entry_that_vanished_with_its_topic_is_explained_by_that():
    asked = []

    def is_gone(topic, topic_id):
        asked.append((topic, topic_id))
        return True

    judge = new_judge(is_gone=is_gone)
    found = take(judge, 0, record(adopted(), 0), record(None, 1, at_ms=1_700))
    assert kinds(found) == [(Kind.VANISHED, Weight.ACCEPTED)]
    assert found[0].at_ms == 1_700
    assert asked == [("topic", TOPIC_ID)]


def test_an_entry_that_vanished_while_its_topic_is_there_is_an_anomaly():
    judge = new_judge(is_gone=lambda topic, topic_id: False)
    found = take(judge, 0, record(adopted(), 0), record(None, 1))
    assert kinds(found) == [(Kind.VANISHED, Weight.ANOMALY)]
    assert found[0].before == commit(adopted())


# -- several logs


def test_a_producer_that_commits_after_its_successor_is_found_across_groups():
    judge = new_judge()
    other = {"group": OTHER, "partition": 1}
    take(judge, 0, record(held(epoch=4), 0, at_ms=2_000), caught_up_ms=2_000)
    take(judge, 1, record(held(epoch=3), 0, at_ms=2_011, **other), caught_up_ms=2_011)
    assert not any(kind is Kind.EPOCH for kind, _ in judge.kinds)
    found = take(judge, 0, caught_up_ms=3_000) + take(judge, 1, caught_up_ms=3_000)
    assert kinds(found) == [(Kind.EPOCH, Weight.ANOMALY)]
    assert found[0].subject.partition == 1


def test_a_producer_that_commits_before_its_successor_in_another_log_is_right():
    judge = new_judge()
    take(judge, 0, record(held(epoch=4), 0, at_ms=2_000), caught_up_ms=2_500)
    other = {"group": OTHER, "partition": 1}
    take(judge, 1, record(held(epoch=3), 0, at_ms=1_990, **other), caught_up_ms=2_500)
    assert not any(kind is Kind.EPOCH for kind, _ in kinds([*judge.end()]))


def test_it_is_known_up_to_which_time_everything_is_judged():
    judge = new_judge()
    take(judge, 0, caught_up_ms=5_000)
    assert judge.judged_to_ms is None
    take(judge, 1, caught_up_ms=4_000)
    assert judge.judged_to_ms == 4_000


# -- over restarts


def restarted(judge):
    """Returns a judge that begins with what another one has kept."""
    anew = ClusterJudge(judge.cluster, OWNERS, SKEW_MS)
    anew.restore(judge.positions, judge.stored())
    return anew


def test_after_a_restart_reading_begins_with_the_last_entries_of_each_log():
    judge = new_judge()
    take(judge, 0, record(adopted(), 5), record(adopted(), 7, partition=1), end=at(90))
    take(judge, 1, end=at(40))
    assert restarted(judge).begins() == {0: TailPosition("id", 0, 5), 1: at(40)}


def at(offset, era=0, topic_id="id"):
    return TailPosition(topic_id, era, offset, 3)


def test_an_entry_far_behind_is_not_read_again():
    judge = new_judge()
    take(judge, 0, record(adopted(), 5), end=at(6 + LOOK_BACK_RECORDS))
    assert restarted(judge).begins()[0].offset == 6 + LOOK_BACK_RECORDS


def test_after_a_restart_the_next_entry_is_judged_if_the_last_one_is_still_there():
    judge = new_judge()
    take(judge, 0, record(held(), 0), record(held(), 1))
    for first, expected in (([record(held(), 1)], Kind.GAP), ([], Kind.UNSEEN)):
        anew = restarted(judge)
        anew.begin(anew.begins() | {1: TailPosition("id", 0)})
        found = take(anew, 0, *first, record(held(offset=12), 2))
        assert [kind for kind, _ in kinds(found)] == [expected]


def test_entries_of_a_feed_that_is_gone_from_the_configuration_are_forgotten():
    judge = new_judge()
    take(judge, 0, record(adopted(), 0))
    anew = ClusterJudge(judge.cluster, {}, SKEW_MS)
    anew.restore(judge.positions, judge.stored())
    assert anew.stored() == []


def test_a_cluster_that_was_built_anew_has_no_history():
    judge = new_judge()
    take(judge, 0, record(held(), 7))
    judge.begin({0: TailPosition("another", 1), 1: TailPosition("another", 1)})
    assert judge.stored() == []
    assert not take(judge, 0, record(adopted(), 0, era=1))


def test_a_log_that_was_cut_is_judged_anew_and_lost_entries_are_found():
    judge = new_judge()
    take(judge, 0, record(adopted(), 0), record(held(), 1))
    judge.begin({0: TailPosition("id", 1), 1: judge.positions[1]})
    assert judge.positions[0] == TailPosition("id", 1)
    found = take(judge, 0, record(held(offset=4, count=4), 0, era=1))
    assert (Kind.BACKWARD, Weight.ANOMALY) in kinds(found)


# -- stale


def test_a_held_entry_is_stale_once_and_again_after_it_was_renewed():
    judge = new_judge()
    take(judge, 0, record(held(), 0, at_ms=1_000), caught_up_ms=90_000)
    assert kinds(judge.stale(90_000, 60_000)) == [(Kind.STALE, Weight.ANOMALY)]
    assert not [*judge.stale(95_000, 60_000)]
    assert judge.stale_count == 1
    take(judge, 0, record(held(), 1, at_ms=91_000), caught_up_ms=99_000)
    assert judge.stale_count == 0
    assert not [*judge.stale(99_000, 60_000)]


@pytest.mark.parametrize("caught_up_ms", [None, 30_000])
def test_a_log_that_is_not_read_to_its_end_makes_nothing_stale(caught_up_ms):
    judge = new_judge()
    take(judge, 0, record(held(), 0, at_ms=1_000), caught_up_ms=caught_up_ms)
    assert not [*judge.stale(90_000, 60_000)]


def test_reading_anew_does_not_judge_what_was_judged():
    judge = new_judge()
    records = record(adopted(), 0), record(held(offset=12), 1)
    assert len(take(judge, 0, *records)) == 1
    judge.begin(judge.begins())
    assert not take(judge, 0, *records)
    assert judge.judged == {"feed flights": 2}


def test_entries_before_the_time_asked_for_are_predecessors_only():
    judge = new_judge(since_ms=2_000)
    old = record(adopted(), 0), record(held(offset=12), 1, at_ms=1_999)
    assert not take(judge, 0, *old)
    found = take(judge, 0, record(held(offset=11), 2, at_ms=2_000))
    assert kinds(found) == [(Kind.BACKWARD, Weight.ANOMALY)]
    assert judge.judged == {"feed flights": 1}
    assert judge.kinds == {(Kind.BACKWARD, Weight.ANOMALY): 1}


def test_positions_never_go_back_while_old_records_are_read_again():
    judge = new_judge()
    take(judge, 0, record(adopted(), 3), end=at(50))
    judge.begin(judge.begins())
    again = record(adopted(), 3)
    begin = replace_offset(judge.positions[0], 3)
    list(judge.take(0, Portion(begin, replace_offset(begin, 4), (again,))))
    assert judge.positions[0].offset == 50


def replace_offset(position, offset):
    return position._replace(offset=offset)


def test_the_epochs_of_entries_that_were_restored_still_count():
    judge = new_judge()
    take(judge, 0, record(held(epoch=4), 0, at_ms=2_000))
    anew = restarted(judge)
    anew.begin({0: at(0), 1: at(0)})
    other = {"group": OTHER, "partition": 1}
    take(anew, 1, record(replace(held(), epoch=3), 0, at_ms=9_000, **other))
    assert (Kind.EPOCH, Weight.ANOMALY) in kinds([*anew.end()])


def test_the_last_entries_of_a_feed_are_known_with_the_offset_first_seen():
    judge = new_judge()
    first = record(adopted(offset=4, reference=4), 0)
    take(judge, 0, first, record(held(offset=9), 1), record(carried(), 2, group=ROUTE))
    ((subject, last),) = judge.entries("feed flights").items()
    assert (subject.topic, subject.partition) == ("topic", 0)
    assert (last.entry, last.first_offset) == (held(offset=9), 4)
    take(judge, 0, record(None, 3))
    assert judge.entries("feed flights") == {}
