"""The verdict is the worst of what was counted, and EQUAL only if nothing is left open."""

import pytest

from replicator.audit.record_counts import RecordCounts
from replicator.audit.verdict import Row, Verdict, by_topic, verdict

WORST_FIRST = [
    (RecordCounts(missing=1), Verdict.MISSING),
    (RecordCounts(surplus=1), Verdict.SURPLUS),
    (RecordCounts(changed=1), Verdict.CHANGED),
    (RecordCounts(doubts={"gone": 1}), Verdict.INCOMPLETE),
    (RecordCounts(behind=1), Verdict.BEHIND),
    (RecordCounts(source_records=5, target_records=5, foreign=3), Verdict.EQUAL),
]


@pytest.mark.parametrize("worse", range(len(WORST_FIRST)))
@pytest.mark.parametrize("better", range(len(WORST_FIRST)))
def test_the_worse_of_two_verdicts_counts(worse: int, better: int) -> None:
    both = WORST_FIRST[worse][0] + WORST_FIRST[better][0]
    assert verdict(both) is WORST_FIRST[min(worse, better)][1]


def test_offsets_behind_an_open_transaction_are_behind() -> None:
    assert verdict(RecordCounts(held_back=1)) is Verdict.BEHIND


def test_only_missing_surplus_and_changed_are_differences() -> None:
    differing = {each for each in Verdict if each.is_difference}
    assert differing == {Verdict.MISSING, Verdict.SURPLUS, Verdict.CHANGED}


def test_a_topic_has_the_verdict_of_its_worst_partition_and_names_it() -> None:
    rows = [
        Row("west>east", "orders", 0, RecordCounts(source_records=3)),
        Row(
            "west>east",
            "orders",
            1,
            RecordCounts(missing=2, examples=("missing: ...",), notes=("x",)),
        ),
        Row("west>west", "orders", 0, RecordCounts(behind=1)),
    ]
    to_east, to_west = by_topic(rows)
    assert (to_east.route, to_east.partition, to_east.verdict) == (
        "west>east",
        None,
        Verdict.MISSING,
    )
    assert (to_east.counted.source_records, to_east.counted.missing) == (3, 2)
    assert to_east.counted.examples == ("partition 1: missing: ...",)
    assert to_east.counted.notes == ("partition 1: x",)
    assert (to_west.route, to_west.verdict) == ("west>west", Verdict.BEHIND)
