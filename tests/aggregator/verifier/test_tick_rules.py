"""Rules of ticks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aggregator.upsert.tick import LaneRange, Stop
from aggregator.verifier.entry_rules import UnreadableRecord
from aggregator.verifier.finding import Kind, Weight
from aggregator.verifier.tick_rules import TickRules, tick_findings
from replicator.kafka.client.loss import Loss, LossKind
from tests.aggregator.verifier.ticks import ID, commit, commits, lane, long_tick, tick

RULES = TickRules(ID)
PASSED = Loss(LossKind.RETENTION_PASSED, 10, 15)
CUT = Loss(LossKind.SOURCE_TRUNCATED, 7, 10)


def found(before, after):
    return [(each.kind, each.weight) for each in tick_findings(before, after)]


def anomalies(before, after):
    return [each.kind for each in tick_findings(before, after) if each.weight is Weight.ANOMALY]


def entry(of, transactional_id=ID):
    found = commit(of, transactional_id)
    return RULES.decode(found.offset, found.metadata)


def test_ticks_that_follow_each_other_are_right():
    first, second = tick(1, (0, 10)), tick(2, (10, 12), (5, 9))
    assert found(first, second) == []
    assert found(second, tick(3, (12, 12), (9, 9))) == []
    assert found(second, second) == [], "committed again, as its answer was lost"


def test_a_tick_of_several_parts_is_read_from_all_of_them():
    one = long_tick(1)
    assert len(commits(one)) > 1
    assert entry(one).tick == one
    assert list(RULES.between(entry(one), entry(long_tick(2)))) == []


def test_only_the_first_tick_of_a_table_stands_behind_nothing():
    assert RULES.is_first(entry(tick(1, (0, 10))))
    assert not RULES.is_first(entry(tick(2, (0, 10))))


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (tick(4, (0, 10)), tick(6, (10, 12)), Kind.GAP),
        (tick(4, (0, 10)), tick(3, (10, 12), time_ms=9_000), Kind.TURNED_BACK),
        (tick(4, (0, 10)), tick(4, (0, 9)), Kind.OVERLAP),
        (tick(4, (0, 10)), tick(5, (11, 12)), Kind.GAP),
        (tick(4, (0, 10)), tick(5, (9, 12)), Kind.OVERLAP),
        (tick(4, (5, 10)), tick(5, (2, 4)), Kind.BACKWARD),
        (tick(4, (5, 10)), tick(5, (4, 4)), Kind.BACKWARD),
        (tick(4, (0, 10)), tick(5, (10, 12), time_ms=3_999), Kind.TURNED_BACK),
        (tick(4, (0, 10), (0, 0)), tick(5, (10, 12)), Kind.TURNED_BACK),
        (tick(4, (0, 10)), tick(5, (10, 12), lanes=(lane(0, 9),)), Kind.TOPIC),
        (tick(4, (0, 9), (0, 9)), tick(5, (9, 9), (9, 9), lanes=(lane(1), lane(0))), Kind.TOPIC),
    ],
)
def test_a_tick_that_does_not_follow_the_one_before_speaks(before, after, kind):
    assert kind in anomalies(before, after)


def test_a_range_that_was_taken_twice_is_named_with_its_lane():
    (wrong,) = tick_findings(tick(4, (0, 10)), tick(5, (8, 12)))
    assert (wrong.begin, wrong.end) == (8, 10)
    assert "lane 0 (west regional departures-0" in wrong.text


def test_offsets_are_doubtful_behind_ticks_that_were_not_seen():
    assert found(tick(4, (0, 10)), tick(6, (9, 12))) == [
        (Kind.GAP, Weight.ANOMALY),
        (Kind.OVERLAP, Weight.UNKNOWN),
    ]


@pytest.mark.parametrize(("loss", "begin"), [(PASSED, 15), (CUT, 7)])
def test_a_lane_goes_on_behind_a_loss_that_was_accepted(loss, begin):
    stopped = tick(4, (10, 10), stops=(Stop(0, loss),))
    assert found(stopped, tick(5, (begin, 20))) == [(Kind.LOSS, Weight.ACCEPTED)]
    assert anomalies(stopped, tick(5, (begin + 1, 20)))
    assert anomalies(tick(4, (10, 10)), tick(5, (begin, 20)))


def test_a_stopped_lane_takes_nothing():
    stopped = tick(4, (10, 10), stops=(Stop(0, PASSED),))
    assert found(stopped, replace(stopped, number=5)) == []
    wrong = replace(stopped, number=5, ranges=(LaneRange(10, 12),))
    assert found(stopped, wrong) == [(Kind.CUSTODY, Weight.ANOMALY)]


def test_the_accepted_loss_of_a_topic_that_is_gone_is_told_once():
    gone = Loss(LossKind.SOURCE_DELETED, 10, None)
    stopped = tick(4, (10, 10), stops=(Stop(0, gone),))
    accepted = tick(5, (10, 10), stops=(Stop(0, gone, True),))
    assert found(stopped, accepted) == [(Kind.LOSS, Weight.ACCEPTED)]
    assert found(accepted, replace(accepted, number=6)) == []


def test_a_rollback_is_told_and_an_older_generation_is_an_anomaly():
    old, new = tick(7, (0, 10)), replace(tick(3, (0, 4)), generation=2)
    assert found(old, new) == [(Kind.RESTARTED, Weight.ACCEPTED)]
    assert Kind.TURNED_BACK in anomalies(new, old)


def test_a_tick_of_another_transactional_id_is_a_matter_of_custody():
    own, foreign = entry(tick(4, (0, 10))), entry(tick(5, (10, 12)), "sluice.upsert.other.status")
    (wrong,) = RULES.within(own, foreign)
    assert wrong.kind is Kind.CUSTODY and "sluice.upsert.other.status" in wrong.text
    assert not [*RULES.within(foreign, foreign)], "told once"
    assert not [*RULES.within(None, own)]


@pytest.mark.parametrize("metadata", ["", "{}", "\n", commits(long_tick(1))[0].metadata])
def test_a_tick_that_lacks_parts_or_sense_is_unreadable(metadata):
    with pytest.raises(UnreadableRecord):
        RULES.decode(1, metadata)


def test_a_tick_that_is_committed_again_with_an_accepted_loss_is_told_and_was_not_cut_twice():
    gap = Stop(0, Loss(LossKind.RETENTION_PASSED, 0, 4))
    plain, shown = tick(3, (0, 9)), tick(3, (0, 9), gaps=(gap,))
    given_up = tick(3, (0, 9), gaps=(gap._replace(is_accepted=True),))
    assert list(tick_findings(plain, shown)) == []
    (told,) = tick_findings(shown, given_up)
    assert (told.kind, told.weight) == (Kind.LOSS, Weight.ACCEPTED)
    (twice,) = tick_findings(plain, tick(3, (0, 8)))
    assert twice.kind is Kind.OVERLAP


def test_a_lane_goes_back_to_where_its_log_was_cut_within_an_accepted_tick():
    gap = Stop(0, CUT, is_accepted=True)
    before, after = tick(4, (0, 10)), tick(5, (8, 8))
    assert found(replace(before, gaps=(gap,)), after) == [], "told with its acceptance"
    for other in (gap._replace(is_accepted=False), gap._replace(loss=replace(CUT, begin=9))):
        assert found(replace(before, gaps=(other,)), after) != []
    assert found(replace(before, gaps=(gap._replace(loss=PASSED),)), after) != []
