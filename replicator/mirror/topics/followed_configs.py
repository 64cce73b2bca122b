"""Followed configs: the changes that make a target's topic have what its sources now agree on.

A decision about three values: what the sources want, what the target has, and what we last wrote
there (written_log.py). The order in which configs changed plays no part in it.

- A config that we wrote is followed for as long as the topic is mirrored, also when no source sets
  it any more: then the value in effect at the sources is wanted.
- A config on the target's topic with another value than the last one that we wrote was set there by
  hand. It is kept, and told. Deleting it there hands the config back to us.
- A default of the target's brokers, set by its operators, yields to configs that a source sets, and
  to nothing else. A default of Kafka is no decision of anybody: versions differ.
- A topic of which nothing was written so far existed before, or was mirrored by a version that
  wrote nothing down. What a source sets is followed there, as that version did, unless the topic
  keeps more: such a value may be an operator's.
- While a source does not answer, only what keeps or takes more is followed: that source could
  only ask for more still.
- Lowered retention, a further cleanup policy and a lower max.message.bytes or segment.bytes are
  held back until the records that the sources had are mirrored (lowerings.py). All else changes at
  once. So does compaction that ends, since unread records may have no key: until they are mirrored,
  "delete" then has unlimited retention.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from uuid import UUID

from replicator.kafka.admin.topic import RETENTION, Configs, number, policies
from replicator.mirror.topics.topic_configs import LARGEST, TAKEN, UNJUDGED, Wanted, is_same

TO_COME = UUID(int=0)
"""Stands for the id of a topic that is about to be created."""


@dataclass(frozen=True, slots=True)
class WrittenConfigs:
    """Configs that we wrote to a target's topic.

    Args:
        topic_id: of the topic; under another id the topic was created anew. TO_COME: of the topic
            that we create with these configs. Whoever was faster has set other values.
        values: by config, the last value that we wrote, behind the one before it for as long as
            the target was not seen with the last one.
    """

    topic_id: UUID
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Bounds:
    """Range of a config's values that the target takes, as far as its answers told."""

    least: Decimal | None = None
    most: Decimal | None = None

    def nearest(self, name: str, value: str) -> str:
        """Returns the value, or the bound that it lies beyond."""
        size = number(name, value)
        if size is None:
            return value
        if self.least is not None and size < self.least:
            return str(self.least)
        if self.most is not None and size > self.most:
            return str(self.most)
        return value

    def narrowed(self, other: Bounds) -> Bounds:
        """Returns the range with a bound that was told later."""
        return Bounds(
            self.least if other.least is None else other.least,
            self.most if other.most is None else other.most,
        )


@dataclass(frozen=True, slots=True)
class Following:
    """Configs of one target topic, by what becomes of them.

    Args:
        wanted: all wanted values, or the nearest that the target takes.
        changes: values to set now.
        waiting: values to set once what the sources had is mirrored.
        by_hand: wanted values of configs that were set on the target, and stay as they are.
        nearest: wanted values that the target does not take, and gets the nearest of.
    """

    wanted: Mapping[str, str]
    changes: Mapping[str, str]
    waiting: Mapping[str, str]
    by_hand: Mapping[str, str]
    nearest: Mapping[str, str]

    def without(self, target: Configs) -> Following:
        """Returns what is done while a source does not answer.

        Changes are made that this source could not take back. What is wanted is not known.
        """
        more = {n: v for n, v in self.changes.items() if raises(n, target.values.get(n), v)}
        return replace(self, wanted={}, changes=more, waiting={})


def following(
    wanted: Wanted,
    target: Configs,
    written: WrittenConfigs | None,
    is_released: Callable[[str, str], bool],
    bounds: Mapping[str, Bounds],
) -> Following:
    """Returns what becomes of each config.

    Args:
        target: configs of the target's topic.
        written: None where nothing is known of what was written.
        is_released: True for a name and value that need not wait (any more).
        bounds: of the target, by config.
    """
    changes: dict[str, str] = {}
    waiting: dict[str, str] = {}
    by_hand: dict[str, str] = {}
    wanted_values = {**wanted.defaults, **wanted.configs}
    legal = {n: bounds[n].nearest(n, v) if n in bounds else v for n, v in wanted_values.items()}
    for name, value in legal.items():
        here = target.values.get(name)
        # A target that does not describe them has no such limits.
        if (here is None and name in UNJUDGED) or (here is not None and is_same(name, here, value)):
            continue
        is_set = name in wanted.configs
        is_lower = here is not None and lowers(name, here, value)
        if here is not None and name in target.on_topic:
            if written is None:
                is_ours = is_set and not is_lower
            else:
                is_ours = here in written.values.get(name, ())
            if not is_ours:
                by_hand[name] = value
                continue
        elif not is_set and name not in target.by_default:
            continue
        (waiting if is_lower and not is_released(name, value) else changes)[name] = value
    policy = waiting.get("cleanup.policy")
    if policy is not None and "compact" in target.policies - policies(policy):
        # What is unread may have no key, and a compacted topic refuses it: waiting would not end.
        kept = [name for name in RETENTION if name in legal and name not in by_hand]
        changes |= {"cleanup.policy": policy, **dict.fromkeys(kept, "-1")}
        waiting = {name: value for name, value in waiting.items() if name not in changes}
    nearest = {n: v for n, v in wanted_values.items() if v != legal[n] and n not in by_hand}
    return Following(legal, changes, waiting, by_hand, nearest)


def lowers(name: str, here: str, value: str) -> bool:
    """Returns True where the target would delete or refuse records that it keeps or takes now."""
    if name == "cleanup.policy":
        return bool(policies(value) - policies(here))
    if name not in RETENTION and name not in TAKEN:
        return False
    before, after = number(name, here), number(name, value)
    return before is not None and after is not None and after < before


def raises(name: str, here: str | None, value: str) -> bool:
    """Returns True where a further source could only make the value larger still."""
    before, after = number(name, here), number(name, value)
    is_growing = name in LARGEST or name == "retention.bytes"
    return is_growing and before is not None and after is not None and after > before


def written_after(
    written: WrittenConfigs | None,
    topic_id: UUID,
    target: Configs,
    follow: Following,
) -> WrittenConfigs:
    """Returns the record to write before the changes are made.

    A config on the topic that has the wanted value counts as written by us: whoever set it, both
    agree.

    Args:
        written: the record so far; None if there is none of this topic id.
    """
    values = dict(written.values) if written else {}
    for name, value in follow.wanted.items():
        here = target.values.get(name)
        if here is None or name not in target.on_topic:
            continue
        # The value before the last one stays until the last one was seen. Brokers learn of a change
        # a moment later, and a driver may end between record and change.
        if is_same(name, here, value) or here in values.get(name, ())[-1:]:
            values[name] = (here,)
    for name, value in follow.changes.items():
        before = (one for one in values.get(name, ()) if one != value)
        values[name] = (*before, value)
    return WrittenConfigs(topic_id, values)
