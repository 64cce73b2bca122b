"""Actions that are tried after a target has refused some, by its answer."""

import pytest

from replicator.kafka.admin.topic_changes import Alter, Create
from replicator.mirror.topics.refused_configs import alternatives

ANSWER = "Invalid value 14 for configuration segment.bytes: Value must be at least 1048576"
CONFIGS = (("local.retention.ms", "5"), ("retention.ms", "6"), ("segment.bytes", "14"))


def tried(action: Create | Alter, answer: str) -> list[dict[str, str]]:
    return [dict(each.configs) for each in alternatives(action, answer).actions]


@pytest.mark.parametrize("action", [Create("orders", 1, CONFIGS, -1), Alter("orders", CONFIGS)])
def test_a_value_out_of_range_is_replaced_by_the_nearest(action: Create | Alter) -> None:
    assert tried(action, ANSWER) == [dict(CONFIGS) | {"segment.bytes": "1048576"}]


def test_an_upper_bound_is_read_as_well() -> None:
    action = Alter("orders", (("min.cleanable.dirty.ratio", "1.5"),))
    answer = (
        "Invalid value 1.5 for configuration min.cleanable.dirty.ratio: Value must be no more than "
        "0.75"
    )
    assert tried(action, answer) == [{"min.cleanable.dirty.ratio": "0.75"}]


@pytest.mark.parametrize(
    "answer",
    [
        "Unknown topic config name: retention.ms",
        "Invalid value 6 for configuration retention.ms: Not a number of type LONG",
        # A range that the value is in helps nobody.
        "Invalid value 6 for configuration retention.ms: Value must be at least 1",
    ],
)
def test_a_config_that_is_named_is_left_out_and_only_that(answer: str) -> None:
    found = alternatives(Alter("orders", CONFIGS), answer)
    assert [dict(each.configs) for each in found.actions] == [
        {"local.retention.ms": "5", "segment.bytes": "14"}
    ]
    assert found.refused


def test_two_configs_in_conflict_are_tried_one_by_one() -> None:
    action = Alter("orders", (("min.compaction.lag.ms", "5"), ("max.compaction.lag.ms", "4")))
    answer = "conflict topic config setting min.compaction.lag.ms (5) > max.compaction.lag.ms (4)"
    assert tried(action, answer) == [{"min.compaction.lag.ms": "5"}, {"max.compaction.lag.ms": "4"}]


def test_a_topic_is_made_without_the_configs_of_an_answer_that_names_none() -> None:
    configs = (("compression.type", "producer"), *CONFIGS)
    assert tried(Create("orders", 1, configs, -1), "no") == [{"compression.type": "producer"}]
    assert alternatives(Create("orders", 1, (), 7), "too few brokers").refused


def test_an_answer_that_names_none_is_found_out_by_halves() -> None:
    assert tried(Alter("orders", CONFIGS), "no") == [
        {"local.retention.ms": "5"},
        {"retention.ms": "6", "segment.bytes": "14"},
    ]
    assert alternatives(Alter("orders", CONFIGS[:1]), "no").refused
