"""Topic plan: what it creates, grows, alters and carries, and what it never touches."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import NAMESPACE_DNS, uuid5

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.config.settings import TopicSettings
from replicator.config.topology import Route
from replicator.kafka.admin.topic import Configs, Topic
from replicator.kafka.admin.topic_changes import Alter, Create, Grow
from replicator.mirror.topics.topic_plan import State, TopicPlan, plan

WEST, EAST = Route("west", "east"), Route("east", "east")
DEFAULTS = {
    "cleanup.policy": "delete",
    "compression.type": "producer",
    "max.message.bytes": "1048588",
    "message.timestamp.type": "CreateTime",
    "retention.bytes": "-1",
    "retention.ms": "604800000",
}
YES = TopicSettings(compact_many_sources=("orders",))


def topic(name: str = "orders", partitions: int = 3, internal: bool = False, **own: str) -> Topic:
    changed = {key.replace("_", "."): value for key, value in own.items()}
    configs = Configs({**DEFAULTS, **changed}, frozenset(changed))
    return Topic(name, uuid5(NAMESPACE_DNS, name), partitions, configs, is_internal=internal)


def states(result: TopicPlan, name: str = "orders") -> tuple[State, ...]:
    (status,) = (each for each in result.topics if each.topic == name)
    return status.states


def made(result: TopicPlan, target: Sequence[Topic]) -> list[Topic]:
    """Returns the target's topics after the plan's actions, as Kafka would leave them."""
    there = {here.name: here for here in target}
    for action in result.actions:
        match action:
            case Create(name, partitions, configs):
                values = Configs({**DEFAULTS, **dict(configs)}, frozenset(dict(configs)))
                there[name] = Topic(name, uuid5(NAMESPACE_DNS, f"new-{name}"), partitions, values)
            case Grow(name, to):
                assert to > there[name].partitions
                there[name] = replace(there[name], partitions=to)
            case Alter(name, configs):
                values = Configs({**there[name].configs.values, **dict(configs)})
                there[name] = replace(there[name], configs=values)
    return list(there.values())


owned = st.fixed_dictionaries(
    {},
    optional={
        "retention_ms": st.sampled_from(["-1", "1000", "99999999999"]),
        "retention_bytes": st.sampled_from(["-1", "1000000"]),
        "max_message_bytes": st.sampled_from(["1000", "9999999"]),
        "cleanup_policy": st.sampled_from(["delete", "compact", "compact,delete"]),
        "compression_type": st.sampled_from(["producer", "lz4"]),
        "message_timestamp_type": st.sampled_from(["CreateTime", "LogAppendTime"]),
    },
)
names = st.sampled_from(["orders", "clicks", "__consumer_offsets", "sluice.runs.west.east", "mm2"])
topics = st.builds(
    lambda name, partitions, internal, own: topic(name, partitions, internal, **own),
    names,
    st.integers(1, 12),
    st.booleans(),
    owned,
)
clusters = st.lists(topics, max_size=5, unique_by=lambda here: here.name)
settings = st.sampled_from([TopicSettings(), YES, TopicSettings(deny=("mm.",), allow=("[a-z]+",))])


@given(clusters, clusters, clusters, settings)
def test_a_plan_that_was_done_leaves_nothing_to_do(
    west: list[Topic], east: list[Topic], target: list[Topic], settings: TopicSettings
) -> None:
    sources = {WEST: west, EAST: east}
    first = plan(sources, target, settings)
    after = made(first, target)
    second = plan(sources, after, settings)
    assert second.actions == ()
    gone = {State.TO_BE_CREATED, State.TARGET_HAS_FEWER, State.RECOMPRESSING}
    for status in second.topics:
        assert not status.is_carried or not gone & set(status.states)


@given(clusters, clusters, clusters, settings)
def test_internal_denied_and_own_topics_are_never_touched(
    west: list[Topic], east: list[Topic], target: list[Topic], settings: TopicSettings
) -> None:
    result = plan({WEST: west, EAST: east}, target, settings)
    touched = {action.topic for action in result.actions} | {c.topic for c in result.carried}
    allowed = {here.name for here in [*west, *east] if not here.is_internal}
    assert touched <= allowed - {"__consumer_offsets", "sluice.runs.west.east"}
    if settings.deny:
        assert touched <= {"orders", "clicks"}


@given(clusters, clusters, clusters, settings)
def test_nothing_shrinks_and_only_what_exists_at_both_ends_is_carried(
    west: list[Topic], east: list[Topic], target: list[Topic], settings: TopicSettings
) -> None:
    result = plan({WEST: west, EAST: east}, target, settings)
    before = {here.name: here.partitions for here in target}
    for here in made(result, target):
        assert here.partitions >= before.get(here.name, 0)
    sources = {(WEST, here.name): here for here in west} | {(EAST, t.name): t for t in east}
    for carried in result.carried:
        source = sources[carried.route, carried.topic]
        assert carried.partitions == min(source.partitions, before[carried.topic])
        assert carried.source_topic_id == source.topic_id


@given(clusters, clusters, clusters, settings)
def test_the_order_in_which_clusters_answer_does_not_matter(
    west: list[Topic], east: list[Topic], target: list[Topic], settings: TopicSettings
) -> None:
    one = plan({WEST: west, EAST: east}, target, settings)
    other = plan({EAST: east[::-1], WEST: west[::-1]}, target[::-1], settings)
    assert one == other


@given(clusters, clusters, clusters, settings)
def test_the_target_always_takes_batches_as_they_are(
    west: list[Topic], east: list[Topic], target: list[Topic], settings: TopicSettings
) -> None:
    result = plan({WEST: west, EAST: east}, target, settings)
    after = {here.name: here for here in made(result, target)}
    for carried in plan({WEST: west, EAST: east}, list(after.values()), settings).carried:
        values = after[carried.topic].configs.values
        assert values["compression.type"] == "producer"
        assert values["message.timestamp.type"] == "CreateTime"
    for action in result.actions:
        if isinstance(action, Alter):
            assert "message.timestamp.type" not in dict(action.configs)


@given(clusters, clusters, settings)
def test_no_config_changes_while_a_source_is_unknown(
    west: list[Topic], target: list[Topic], settings: TopicSettings
) -> None:
    result = plan({WEST: west, EAST: None}, target, settings)
    assert result.unknown == (EAST,)
    for action in result.actions:
        assert not isinstance(action, Alter) or dict(action.configs).keys() == {"compression.type"}


def test_a_topic_is_created_as_large_as_the_largest_of_its_sources() -> None:
    sources = {WEST: [topic(partitions=3)], EAST: [topic(partitions=5, retention_ms="-1")]}
    result = plan(sources, [], TopicSettings(replication_factor=2))
    configs = (
        ("compression.type", "producer"),
        ("message.timestamp.type", "CreateTime"),
        ("retention.ms", "-1"),
    )
    assert result.actions == (Create("orders", 5, configs, 2),)
    assert result.carried == ()
    assert states(result) == (
        State.TO_BE_CREATED,
        State.SOURCES_DISAGREE,
    )


def test_a_topic_that_matches_everywhere_is_simply_mirrored() -> None:
    result = plan({WEST: [topic()], EAST: [topic()]}, [topic()], TopicSettings())
    assert result.actions == ()
    assert states(result) == (State.MIRRORED,)
    assert [(c.route, c.partitions) for c in result.carried] == [(EAST, 3), (WEST, 3)]


def test_partitions_are_grown_and_meanwhile_those_there_are_carried() -> None:
    result = plan({WEST: [topic(partitions=6)]}, [topic(partitions=4)], TopicSettings())
    assert result.actions == (Grow("orders", 6),)
    assert states(result) == (State.TARGET_HAS_FEWER,)
    assert [c.partitions for c in result.carried] == [4]


def test_a_target_with_more_partitions_is_noted_and_carried() -> None:
    result = plan({WEST: [topic(partitions=2)]}, [topic(partitions=4)], TopicSettings())
    assert result.actions == ()
    assert states(result) == (State.TARGET_HAS_MORE,)
    assert [c.partitions for c in result.carried] == [2]


def test_a_compacted_topic_of_two_regions_needs_the_operators_consent() -> None:
    sources = {WEST: [topic(cleanup_policy="compact")], EAST: [topic(cleanup_policy="compact")]}
    for target in ([], [topic()]):
        result = plan(sources, target, TopicSettings())
        assert (result.actions, result.carried) == ((), ())
        assert states(result)[-1] == State.COMPACT_MANY_SOURCES
    (create,) = plan(sources, [], YES).actions
    assert isinstance(create, Create)
    assert dict(create.configs)["cleanup.policy"] == "compact"
    assert plan(sources, made(plan(sources, [], YES), []), YES).carried


def test_a_compacted_topic_of_one_region_needs_no_consent() -> None:
    compacted = topic(cleanup_policy="compact")
    assert plan({WEST: [compacted]}, [compacted], TopicSettings()).carried


def test_a_target_that_compacts_on_its_own_needs_consent_as_well() -> None:
    target = [topic(cleanup_policy="compact")]
    result = plan({WEST: [topic()], EAST: [topic()]}, target, TopicSettings())
    assert State.COMPACT_MANY_SOURCES in states(result)
    assert result.actions == ()


def test_a_target_with_log_append_time_is_not_carried() -> None:
    target = [topic(message_timestamp_type="LogAppendTime")]
    result = plan({WEST: [topic()]}, target, TopicSettings())
    assert states(result) == (State.LOG_APPEND_TIME,)
    assert result.carried == ()
    source = [topic(message_timestamp_type="LogAppendTime")]
    assert plan({WEST: source}, [topic()], TopicSettings()).carried


def test_a_target_that_recompresses_is_altered_and_carried_meanwhile() -> None:
    result = plan({WEST: [topic()]}, [topic(compression_type="zstd")], TopicSettings())
    assert result.actions == (Alter("orders", (("compression.type", "producer"),)),)
    assert states(result) == (State.RECOMPRESSING,)
    assert result.carried


def test_a_target_that_accepts_or_keeps_less_is_noted() -> None:
    settings = TopicSettings(synced_configs=())
    source = [topic(max_message_bytes="5000000", retention_ms="-1")]
    result = plan({WEST: source}, [topic()], settings)
    assert states(result) == (State.TARGET_TAKES_LESS, State.TARGET_KEEPS_LESS)
    assert result.actions == ()


@pytest.mark.parametrize(
    ("allow", "deny", "carried"),
    [
        ((".*",), (), True),
        (("order",), (), False),
        (("order.",), (), True),
        (("clicks", "orders"), (), True),
        ((".*",), ("ord.*",), False),
        ((".*",), ("ord",), True),
    ],
)
def test_patterns_match_whole_names_and_deny_wins(
    allow: tuple[str, ...], deny: tuple[str, ...], carried: bool
) -> None:
    result = plan({WEST: [topic()]}, [topic()], TopicSettings(allow=allow, deny=deny))
    assert bool(result.carried) == carried
    assert (states(result) == (State.DENIED,)) == (not carried)
