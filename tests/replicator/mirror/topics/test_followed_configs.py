"""Configs of a target's topic follow its sources, in whatever order they change."""

import logging
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.topic_partition import TopicPartition
from replicator.config.settings import TopicSettings
from replicator.kafka.admin.admin import Outcome
from replicator.kafka.admin.admin_error import AdminUnreachable
from replicator.kafka.admin.topic_changes import Action, Alter, Create, Grow
from replicator.kafka.tail.topic_tailer import LogUnreadable
from replicator.mirror.topics.followed_configs import WrittenConfigs
from replicator.mirror.topics.written_log import WrittenLog
from tests.replicator.mirror.topics.played_cluster import (
    KAFKA_39,
    KAFKA_43,
    LEAST_39,
    NO_LIMIT,
    PlayedCluster,
)
from tests.replicator.mirror.topics.played_site import ROUTES, Site, site, two_sources

WEEK = "604800000"


OTHER_VALUES = {
    "cleanup.policy": ["", "compact", "delete", "compact,delete"],
    "delete.retention.ms": ["0", "5000"],
    "file.delete.delay.ms": ["0", "1000"],
    "max.compaction.lag.ms": ["100", "9000"],
    "max.message.bytes": ["1000", "5000000"],
    "message.timestamp.after.max.ms": ["1000", NO_LIMIT],
    "message.timestamp.before.max.ms": ["1000", NO_LIMIT],
    "min.cleanable.dirty.ratio": ["0.1", "0.9"],
    "min.compaction.lag.ms": ["50", "90"],
    "retention.bytes": ["1000", "-1"],
    "retention.ms": ["1000", "-1"],
    "segment.bytes": ["1048576", "2097152"],
    "segment.ms": ["1000", "99000"],
}


@pytest.mark.parametrize("name", OTHER_VALUES)
def test_an_override_that_a_source_deletes_is_gone_from_the_target(name: str) -> None:
    for value in OTHER_VALUES[name]:
        made, source, target = site()
        before = target.value(name)
        source.own["orders"][name] = value
        made.round()
        assert target.value(name) in (value, NO_LIMIT)
        source.unset(name)
        made.round()
        assert target.value(name) == before


changes = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["east", "west"]), st.just("restart"), st.just("")),
        st.sampled_from(sorted(OTHER_VALUES)).flatmap(
            lambda name: st.tuples(
                st.sampled_from(["east", "west"]),
                st.just(name),
                st.sampled_from([*OTHER_VALUES[name], "unset"]),
            )
        ),
    ),
    max_size=12,
)


@given(changes, changes, st.booleans())
def test_the_order_in_which_sources_changed_leaves_no_trace(
    first: list[tuple[str, str, str]], second: list[tuple[str, str, str]], has_two: bool
) -> None:
    """Whatever was set and deleted before, the target has what a new target would get."""
    sources = [PlayedCluster(name) for name in ("west", "east")][: 2 if has_two else 1]
    for each in sources:
        each.make()
    made = Site(*sources)
    made.settings = TopicSettings(compact_many_sources=("orders",))
    made.restart()
    made.round()
    for cluster, name, value in [*first, *second]:
        if name == "restart":
            made.restart()
        elif cluster in made.sources:
            if value == "unset":
                made.sources[cluster].unset(name)
            else:
                made.sources[cluster].own["orders"][name] = value
        made.round()
    made.round()
    fresh = Site(*sources)
    fresh.settings = made.settings
    fresh.restart()
    fresh.round()
    assert {name: made.target.value(name) for name in KAFKA_43} == {
        name: fresh.target.value(name) for name in KAFKA_43
    }
    seen = len(made.target.applied)
    made.round()
    assert made.target.applied[seen:] == []


def test_a_lowered_retention_waits_until_what_the_source_had_is_mirrored() -> None:
    made, source, target = site()
    source.ends[TopicPartition("orders", 0)] = 200
    source.set(retention_ms="1000", max_message_bytes="2000", segment_ms="7000")
    made.mirrored = False
    for _ in range(3):
        made.round()
    assert target.value("retention.ms") == WEEK
    assert target.value("max.message.bytes") == "1048588"
    assert target.value("segment.ms") == "7000"
    (places,) = made.sync.awaited().values()
    assert not made.sync.advance({ROUTES["west"]: dict.fromkeys(places, 199)})
    # Records that come later do not hold it back.
    source.ends[TopicPartition("orders", 0)] = 900
    assert made.sync.advance({ROUTES["west"]: dict.fromkeys(places, 200)})
    made.round()
    assert target.value("retention.ms") == "1000"
    assert target.value("max.message.bytes") == "2000"


def test_a_raised_retention_is_not_held_back_by_a_lowering_before_it() -> None:
    made, source, target = site()
    source.ends[TopicPartition("orders", 0)] = 200
    made.mirrored = False
    source.set(retention_ms="1000")
    made.round()
    source.set(retention_ms="-1")
    made.round()
    assert target.value("retention.ms") == "-1"
    assert not made.sync.awaited()
    # The same value, lowered again, waits again.
    source.set(retention_ms="1000")
    made.round()
    assert target.value("retention.ms") == "-1"
    assert made.sync.awaited()


def test_a_policy_that_keeps_less_waits_and_one_that_keeps_more_does_not() -> None:
    made, source, target = site()
    source.ends[TopicPartition("orders", 0)] = 1
    made.mirrored = False
    source.set(cleanup_policy="compact,delete")
    made.round()
    assert target.value("cleanup.policy") == "delete"
    source.set(cleanup_policy="")
    made.round()
    assert target.value("cleanup.policy") == ""


@pytest.mark.parametrize("sources", [("delete",), ("compact", "delete")])
def test_compaction_that_sources_end_keeps_no_record_without_a_key_out(
    sources: Sequence[str],
) -> None:
    """Records without a key may be what is unread: they cannot be mirrored before."""
    clusters = [PlayedCluster(name) for name in ("west", "east")][: len(sources)]
    for each in clusters:
        each.make(cleanup_policy="compact")
    made = Site(*clusters)
    made.settings = TopicSettings(compact_many_sources=("orders",))
    made.restart()
    made.round()
    made.mirrored = False
    for each, policy in zip(clusters, sources, strict=True):
        each.ends[TopicPartition("orders", 0)] = 200
        each.set(cleanup_policy=policy)
    target = made.target
    for _ in range(3):
        made.round()
        assert target.value("cleanup.policy") == "delete"
        # What is unread arrives as the sources kept it.
        assert target.value("retention.ms") == target.value("retention.bytes") == "-1"
        made.restart()
    made.mirrored = True
    made.round()
    assert target.value("retention.ms") == (WEEK if sources == ("delete",) else "-1")


def test_retention_by_hand_stays_when_compaction_ends() -> None:
    made, source, target = site(cleanup_policy="compact")
    target.set(retention_ms="5000")
    made.mirrored = False
    source.ends[TopicPartition("orders", 0)] = 200
    source.unset("cleanup.policy")
    made.round()
    assert (target.value("cleanup.policy"), target.value("retention.ms")) == ("delete", "5000")
    made.mirrored = True
    made.round()
    assert (target.value("retention.bytes"), target.value("retention.ms")) == ("-1", "5000")


def test_a_value_that_was_set_by_hand_is_kept_and_told(caplog: pytest.LogCaptureFixture) -> None:
    made, source, target = site(retention_ms="2000")
    target.set(retention_ms="5000")
    for value in ("2000", "9000", "1000"):
        source.set(retention_ms=value)
        made.restart()
        with caplog.at_level(logging.INFO):
            made.round()
        assert target.value("retention.ms") == "5000"
        assert "set_on_target: retention.ms=5000 was set on the target" in caplog.messages[-1]
        assert f"the sources want retention.ms={value}" in caplog.messages[-1]
    target.unset("retention.ms")
    made.round()
    assert target.value("retention.ms") == "1000"


def test_a_config_that_only_the_target_has_by_hand_is_kept() -> None:
    made, source, target = site()
    target.set(retention_ms="5000")
    made.round()
    source.set(retention_ms="9000")
    made.round()
    assert target.value("retention.ms") == "5000"


def test_a_value_of_ours_from_before_the_last_one_is_one_by_hand() -> None:
    made, source, target = site(retention_ms="1000")
    source.set(retention_ms="5000")
    made.round()
    made.round()
    target.set(retention_ms="1000")
    made.round()
    assert target.value("retention.ms") == "1000"


def test_a_driver_that_ends_between_record_and_change_knows_both_values() -> None:
    class Dying(PlayedCluster):
        is_dying = False

        def apply(self, actions: Sequence[Action]) -> list[Outcome]:
            if self.is_dying:
                raise AdminUnreachable(self.name, "no answer")
            return super().apply(actions)

    source, target = PlayedCluster("source"), Dying("target")
    source.make(retention_ms="1000")
    made = Site(source, target=target)
    made.round()
    source.set(retention_ms="5000")
    target.is_dying = True
    with pytest.raises(AdminUnreachable):
        made.round()
    target.is_dying = False
    source.set(retention_ms="9000")
    made.restart()
    made.round()
    assert target.value("retention.ms") == "9000"


def test_a_target_that_was_there_before_keeps_what_keeps_more() -> None:
    source = PlayedCluster("source")
    source.make(retention_ms="5000", max_message_bytes="5000000")
    made = Site(source)
    made.target.make(retention_ms="9000", max_message_bytes="1000", segment_ms="3000")
    made.round()
    assert made.target.value("retention.ms") == "9000"
    assert made.target.value("max.message.bytes") == "5000000"
    assert made.target.value("segment.ms") == "3000"


def test_a_topic_made_anew_on_the_target_begins_anew() -> None:
    made, _, target = site(retention_ms="2000")
    target.make(retention_ms="1000")
    made.round()
    assert target.value("retention.ms") == "2000"


def test_the_targets_brokers_decide_where_no_source_does() -> None:
    source, other = PlayedCluster("west"), PlayedCluster("east")
    source.make()
    other.make()
    made = Site(source, other, target=PlayedCluster("target", brokers={"retention.ms": "7000"}))
    made.round()
    assert made.target.value("retention.ms") == "7000"
    other.set(retention_ms="1000")
    made.round()
    assert made.target.value("retention.ms") == WEEK


def test_nothing_is_altered_while_a_source_is_silent() -> None:
    west, east = PlayedCluster("west"), PlayedCluster("east")
    west.make(retention_ms="9000")
    east.make(retention_ms="9000")
    made = Site(west, east)
    made.round()
    east.is_silent = True
    west.set(retention_ms="1000")
    made.round()
    made.round()
    assert made.target.value("retention.ms") == "9000"


def test_nothing_is_altered_while_what_was_written_is_not_known() -> None:
    class Unreadable(WrittenLog):
        def read(self) -> dict[str, WrittenConfigs]:
            raise LogUnreadable("no answer")

    made, source, target = site(retention_ms="9000")
    made.written = Unreadable()
    made.restart()
    source.set(retention_ms="-1")
    source.make("clicks")
    made.round()
    assert target.value("retention.ms") == "9000"
    assert "clicks" in target.own


def test_what_the_sources_clock_has_judged_is_not_judged_again() -> None:
    made, source, target = site(message_timestamp_before_max_ms="1000")
    assert target.value("message.timestamp.before.max.ms") == NO_LIMIT
    assert target.value("message.timestamp.after.max.ms") == NO_LIMIT
    source.set(message_timestamp_after_max_ms="1")
    made.round()
    assert target.value("message.timestamp.after.max.ms") == NO_LIMIT


def test_an_empty_policy_wins_over_any_other() -> None:
    west, east = PlayedCluster("west"), PlayedCluster("east")
    west.make(cleanup_policy="", retention_ms="1000")
    east.make(cleanup_policy="delete")
    made = Site(west, east)
    made.round()
    assert made.target.value("cleanup.policy") == ""
    east.set(cleanup_policy="compact")
    made.round()
    assert made.target.value("cleanup.policy") == ""


@pytest.mark.parametrize("pair", [("5000", "9000"), ("50", "90")])
def test_two_configs_that_are_legal_only_together_change_together(pair: tuple[str, str]) -> None:
    made, source, target = site(min_compaction_lag_ms="100", max_compaction_lag_ms="200")
    source.set(min_compaction_lag_ms=pair[0], max_compaction_lag_ms=pair[1], retention_ms="-1")
    made.round()
    assert target.value("min.compaction.lag.ms") == pair[0]
    assert target.value("max.compaction.lag.ms") == pair[1]
    assert target.value("retention.ms") == "-1"
    # The upper limit was ours, and is gone at the source.
    source.unset("max.compaction.lag.ms")
    source.set(min_compaction_lag_ms="300000", segment_ms="4000")
    made.round()
    assert target.value("min.compaction.lag.ms") == "300000"
    assert target.value("segment.ms") == "4000"


def test_a_refused_config_keeps_no_other_back() -> None:
    made, source, target = site()
    # By hand, and in the way of the source's lower limit.
    target.set(max_compaction_lag_ms="200")
    source.set(min_compaction_lag_ms="5000", retention_ms="-1", segment_ms="4000")
    made.round()
    assert target.value("retention.ms") == "-1"
    assert target.value("segment.ms") == "4000"
    assert target.value("min.compaction.lag.ms") == "0"
    (refused,) = (it for it in made.conditions.current if it.kind == "topic-refused")
    assert "min.compaction.lag.ms (5000)" in refused.text


def test_a_target_that_only_says_no_is_asked_for_half_of_it() -> None:
    class Curt(PlayedCluster):
        def _wrong(self, configs: Mapping[str, str]) -> str | None:
            return "policy says no" if configs.get("segment.ms") == "4000" else None

    source = PlayedCluster("source")
    source.make()
    made = Site(source, target=Curt("target"))
    made.round()
    source.set(
        retention_ms="-1", segment_ms="4000", segment_bytes="9999999", delete_retention_ms="1"
    )
    made.round()
    own = made.target.own["orders"]
    assert {"retention.ms", "segment.bytes", "delete.retention.ms"} <= own.keys()
    assert "segment.ms" not in made.target.own["orders"]


def test_the_nearest_legal_value_is_set_and_told(caplog: pytest.LogCaptureFixture) -> None:
    source = PlayedCluster("source", KAFKA_39, least=LEAST_39)
    source.make(segment_bytes="14", retention_ms="-1")
    made = Site(source)
    with caplog.at_level(logging.INFO):
        made.round()
    assert made.target.value("segment.bytes") == "1048576"
    assert made.target.value("retention.ms") == "-1"
    assert made.target.value("message.timestamp.after.max.ms") == NO_LIMIT
    assert "nearest_value: the target does not take segment.bytes=14" in caplog.messages[-1]
    seen = len(made.target.applied)
    made.round()
    assert made.target.applied[seen:] == []
    # The nearest value is ours, and follows.
    source.set(segment_bytes="2097152")
    made.round()
    assert made.target.value("segment.bytes") == "2097152"


def test_defaults_of_kafka_that_differ_are_set_as_the_source_means_them() -> None:
    source = PlayedCluster("source", {**KAFKA_39, "segment.ms": "1234"}, least=LEAST_39)
    source.make()
    made = Site(source)
    made.round()
    assert made.target.value("segment.ms") == "1234"


def test_a_topic_of_very_many_partitions_is_made_in_steps() -> None:
    source = PlayedCluster("source")
    source.make("wide", 12_000)
    source.make("other", 3)
    made = Site(source)
    made.round()
    assert made.target.partitions == {"wide": 12_000, "other": 3}
    steps = [each for each in made.target.applied if each.topic == "wide"]
    before = 0
    for step in steps:
        assert isinstance(step, Create | Grow | Alter)
        size = step.partitions if isinstance(step, Create) else getattr(step, "to", before)
        assert size - before <= 5000
        before = size


@pytest.mark.parametrize("name", OTHER_VALUES)
def test_what_a_topic_was_made_with_is_ours_also_where_a_source_was_away(name: str) -> None:
    """The source that was there deletes its override before the other one is back."""
    for value in OTHER_VALUES[name]:
        made, west, east, target = two_sources(**{name.replace(".", "_"): value})
        west.unset(name)
        made.restart()
        made.round()
        east.is_silent = False
        made.round()
        made.round()
        fresh = Site(west, east)
        fresh.settings = made.settings
        fresh.restart()
        fresh.round()
        assert target.value(name) == fresh.target.value(name)


def test_a_driver_that_ends_right_after_it_made_a_topic_knows_its_configs() -> None:
    class Dying(PlayedCluster):
        def apply(self, actions: Sequence[Action]) -> list[Outcome]:
            super().apply(actions)
            raise AdminUnreachable(self.name, "no answer")

    source, target = PlayedCluster("source"), Dying("target")
    source.make(retention_ms="1000")
    made = Site(source, target=target)
    with pytest.raises(AdminUnreachable):
        made.round()
    target.__class__ = PlayedCluster
    source.unset("retention.ms")
    made.restart()
    made.round()
    assert target.value("retention.ms") == WEEK


def test_a_topic_that_somebody_made_first_keeps_what_we_would_not_have_set() -> None:
    class Taken(PlayedCluster):
        def apply(self, actions: Sequence[Action]) -> list[Outcome]:
            self.make(retention_ms="777")
            return [Outcome(action, None) for action in actions]

    source, target = PlayedCluster("source"), Taken("target")
    source.make()
    made = Site(source, target=target)
    made.round()
    target.__class__ = PlayedCluster
    made.round()
    assert target.value("retention.ms") == "777"


@pytest.mark.parametrize("name", ["max.message.bytes", "retention.ms", "retention.bytes"])
def test_what_keeps_or_takes_more_does_not_wait_for_a_source_that_is_away(name: str) -> None:
    """The source that is away can only ask for more still."""
    made, west, _, target = two_sources(**{name.replace(".", "_"): "2000000"})
    west.own["orders"][name] = "5000000"
    made.round()
    assert target.value(name) == "5000000"
    west.own["orders"][name] = "1000000"
    made.round()
    made.round()
    assert target.value(name) == "5000000"
    target.own["orders"][name] = "4000000"
    west.own["orders"][name] = "6000000"
    made.round()
    assert target.value(name) == "4000000", "it was set by hand"


def test_the_sync_tells_which_records_the_target_refuses() -> None:
    made, source, target = site(cleanup_policy="compact")
    assert made.sync.refusing == {"orders": ("INVALID_RECORD",)}
    target.set(message_timestamp_before_max_ms="5000")
    source.unset("cleanup.policy")
    made.round()
    assert made.sync.refusing == {"orders": ("INVALID_TIMESTAMP",)}
    target.unset("message.timestamp.before.max.ms")
    made.round()
    assert made.sync.refusing == {"orders": ()}
