"""Configs of topics: what the target keeps, what waits, and what was written."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.topic_partition import TopicPartition
from replicator.config.settings import SYNCED_CONFIGS
from replicator.config.topology import Route
from replicator.kafka.admin.topic import RETENTION, Configs, number, policies
from replicator.mirror.topics.followed_configs import WrittenConfigs
from replicator.mirror.topics.lowerings import Lowerings
from replicator.mirror.topics.topic_configs import LARGEST, resolved, to_change, wanted
from replicator.mirror.topics.written_log import decode, encode
from tests.replicator.mirror.topics.played_cluster import KAFKA_43

# -- The target keeps at least what every source keeps, and accepts what every source accepts.

sizes = st.integers(0, 2**63 - 1).map(str)
retentions = st.one_of(st.just("-1"), sizes)


def own(**values: str) -> Configs:
    named = {name.replace("_", "."): value for name, value in values.items()}
    return Configs(named, frozenset(named))


@given(st.sampled_from(sorted(LARGEST)), st.lists(sizes, min_size=1))
def test_the_largest_value_wins(name: str, values: list[str]) -> None:
    assert int(resolved(name, values)) == max(map(int, values))


@given(st.lists(retentions, min_size=1))
def test_retention_is_never_shorter_than_at_any_source(values: list[str]) -> None:
    for name in RETENTION:
        kept = number(name, resolved(name, values))
        for value in values:
            here = number(name, value)
            assert kept is not None
            assert here is not None
            assert kept >= here


@given(st.lists(sizes.filter(lambda size: size != "0"), min_size=1, max_size=4))
def test_a_target_partition_has_room_for_all_its_sources_together(values: list[str]) -> None:
    assert int(resolved("retention.bytes", values)) == sum(map(int, values))


@given(
    st.lists(
        st.sampled_from(["delete", "compact", "compact,delete", "delete, compact"]), min_size=1
    )
)
def test_the_target_has_only_cleanup_policies_that_every_source_has(values: list[str]) -> None:
    result = policies(resolved("cleanup.policy", values))
    common = frozenset.intersection(*map(policies, values))
    assert result == (common or {"delete"})


def test_sources_that_compact_and_delete_lose_nothing_on_the_target() -> None:
    west = own(cleanup_policy="compact", retention_ms="1000", retention_bytes="1")
    east = own(cleanup_policy="delete", retention_ms="2000", retention_bytes="1")
    result = wanted([east, west], SYNCED_CONFIGS)
    assert result.configs == {
        "cleanup.policy": "delete",
        "retention.ms": "-1",
        "retention.bytes": "-1",
    }
    assert "cleanup.policy" in result.disagreed


def test_a_source_that_sets_nothing_still_counts_with_the_value_in_effect() -> None:
    west = own(retention_ms="3600000")
    east = Configs({"retention.ms": "604800000"})
    result = wanted([east, west], ["retention.ms"])
    assert result.configs == {"retention.ms": "604800000"}
    assert result.disagreed == ("retention.ms",)


def test_a_config_that_no_source_sets_is_left_to_the_target() -> None:
    defaults = Configs({"retention.ms": "604800000", "segment.bytes": "1073741824"})
    assert wanted([defaults, defaults], SYNCED_CONFIGS).configs == {}


def test_a_config_that_is_not_listed_is_not_carried_over() -> None:
    assert wanted([own(retention_ms="1")], ["segment.ms"]).configs == {}


def test_a_config_without_a_rule_follows_the_first_source() -> None:
    assert resolved("preallocate", ["true", "false"]) == "true"


def test_spelling_alone_changes_nothing() -> None:
    target = Configs({"cleanup.policy": "delete,compact", "retention.ms": "5"})
    asked = {"cleanup.policy": "compact,delete", "retention.ms": "6"}
    assert to_change(asked, target) == {"retention.ms": "6"}


# -- Lowered configs wait until the target has what the sources had.

WEST, EAST = Route("west", "north"), Route("east", "north")
ZERO, ONE = TopicPartition("orders", 0), TopicPartition("orders", 1)
LOWER = {"orders": {"retention.ms": "1000"}}


def released(lowerings: Lowerings, value: str = "1000") -> bool:
    return lowerings.is_released("orders", "retention.ms", value)


def test_a_value_is_released_once_every_route_has_passed_every_end() -> None:
    lowerings = Lowerings()
    assert lowerings.keep(LOWER) == ["orders"]
    lowerings.begin("orders", {WEST: {ZERO: 5, ONE: 0}, EAST: {ZERO: 7}})
    assert lowerings.keep(LOWER) == []
    assert lowerings.awaited() == {WEST: {ZERO, ONE}, EAST: {ZERO}}
    assert not lowerings.advance({WEST: {ZERO: 5, ONE: 0}})
    assert not released(lowerings)
    assert not lowerings.advance({EAST: {ZERO: 6}})
    assert lowerings.advance({EAST: {ZERO: 7}})
    assert released(lowerings)
    assert not released(lowerings, "2000")


def test_nothing_is_released_before_the_ends_are_known() -> None:
    lowerings = Lowerings()
    lowerings.keep(LOWER)
    assert not lowerings.advance({WEST: {ZERO: 5}})
    assert not released(lowerings)


def test_a_value_that_was_raised_meanwhile_waits_anew() -> None:
    lowerings = Lowerings()
    lowerings.keep(LOWER)
    lowerings.begin("orders", {WEST: {ZERO: 5}})
    lowerings.advance({WEST: {ZERO: 5}})
    lowerings.keep({})
    assert not released(lowerings)
    assert lowerings.keep(LOWER) == ["orders"]
    assert lowerings.keep({"orders": {"retention.ms": "1"}}) == ["orders"]


# -- Records of the configs that drivers wrote, as bytes.


@given(st.dictionaries(st.sampled_from(sorted(KAFKA_43)), st.lists(st.text(), min_size=1)))
def test_a_record_of_written_configs_is_read_as_written(values: dict[str, list[str]]) -> None:
    record = WrittenConfigs(UUID(int=7), {name: tuple(each) for name, each in values.items()})
    assert decode(encode(record)) == record


@pytest.mark.parametrize(
    "value", [b"", b"[]", b'{"version":2}', b'{"version":1,"topic_id":7,"values":{}}']
)
def test_a_record_that_is_not_ours_is_named(value: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode(value)
