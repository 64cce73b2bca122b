"""Mutations of the configs that a target's topic follows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from replicator.config.topology import Route
from replicator.kafka.admin.topic import RETENTION, Configs, Topic, number
from replicator.kafka.admin.topic_changes import Action, Alter
from replicator.mirror.topics.followed_configs import WrittenConfigs
from replicator.mirror.topics.lowerings import Lowerings
from replicator.mirror.topics.topic_configs import UNJUDGED
from replicator.mirror.topics.topic_plan import Carried, TopicPlan
from replicator.mirror.topics.topic_sync import TopicSync, Tried
from tests.world.mirror.mutations.mutation import Mutation
from tests.world.mirror.parts import Parts

AT_END = ("cleanup.policy", *RETENTION)
"""Configs that change as compaction ends."""
Sources = Mapping[Route, Sequence[Topic] | None]
Written = Mapping[str, WrittenConfigs] | None


class Altered(TopicSync):
    """Sync whose changes of configs are others."""

    def _planned(self, sources: Sources, target: Sequence[Topic], written: Written) -> TopicPlan:
        found = super()._planned(sources, target, written)
        ends = {each.name: each.configs for each in target}
        actions: list[Action] = [each for each in found.actions if not isinstance(each, Alter)]
        altered = {it.topic: dict(it.configs) for it in found.actions if isinstance(it, Alter)}
        for name, here in ends.items():
            feeds = [
                it.configs for some in sources.values() for it in some or () if it.name == name
            ]
            if feeds and (changes := self.changed(altered.get(name, {}), feeds, here)):
                actions.append(Alter(name, tuple(sorted(changes.items()))))
        return replace(found, actions=tuple(actions))

    def changed(
        self, changes: dict[str, str], sources: Sequence[Configs], target: Configs
    ) -> dict[str, str]:
        """Returns the changes to make instead."""
        raise NotImplementedError


class IgnoresUnset(Altered):
    """Follows only configs that some source sets."""

    def changed(
        self, changes: dict[str, str], sources: Sequence[Configs], target: Configs
    ) -> dict[str, str]:
        is_set = {name for each in sources for name in each.changed}
        return {name: value for name, value in changes.items() if name in is_set}


class KeepsLess(Altered):
    """Lets the source win that keeps least."""

    def changed(
        self, changes: dict[str, str], sources: Sequence[Configs], target: Configs
    ) -> dict[str, str]:
        sizes = [number("retention.ms", each.values["retention.ms"]) for each in sources]
        least = min(size for size in sizes if size is not None)
        value = "-1" if least.is_infinite() else str(least)
        if target.values["retention.ms"] == value:
            changes.pop("retention.ms", None)
            return changes
        return {**changes, "retention.ms": value}


class CopiesJudgments(Altered):
    """Copies the limits by which the sources have judged records already."""

    def changed(
        self, changes: dict[str, str], sources: Sequence[Configs], target: Configs
    ) -> dict[str, str]:
        copied = {name: min((each.values[name] for each in sources), key=int) for name in UNJUDGED}
        others = {name: value for name, value in changes.items() if name not in UNJUDGED}
        return others | {n: value for n, value in copied.items() if target.values[n] != value}


class FillsPolicy(Altered):
    """Takes an empty policy for none, and gives the target that of Kafka."""

    def changed(
        self, changes: dict[str, str], sources: Sequence[Configs], target: Configs
    ) -> dict[str, str]:
        if changes.get("cleanup.policy") == "":
            del changes["cleanup.policy"]
        return changes


class Overwrites(TopicSync):
    """Takes each value on the target's topic for its own."""

    def _planned(self, sources: Sources, target: Sequence[Topic], written: Written) -> TopicPlan:
        own = dict(written or {})
        for each in target:
            values = {name: (each.configs.values[name],) for name in each.configs.on_topic}
            own[each.name] = WrittenConfigs(each.topic_id, values)
        return super()._planned(sources, target, own)


class WaitsForNobody(Lowerings):
    """Releases each lower value at once."""

    def is_released(self, topic: str, name: str, value: str) -> bool:
        return True


class LowersAtOnce(TopicSync):
    """Waits for no record that is not mirrored yet."""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self._lowerings = WaitsForNobody()


class WaitsForKeys(TopicSync):
    """Ends compaction once all is mirrored, as it begins it."""

    def _planned(self, sources: Sources, target: Sequence[Topic], written: Written) -> TopicPlan:
        found = super()._planned(sources, target, written)
        waiting, actions = dict(found.waiting), list(found.actions)
        for at, each in enumerate(actions):
            changes = dict(each.configs) if isinstance(each, Alter) else {}
            policy = changes.get("cleanup.policy", "compact")
            is_compacted = any(
                it.name == each.topic and "compact" in it.configs.policies for it in target
            )
            if is_compacted and policy == "delete" and "-1" in changes.values():
                kept = {name: it for name, it in changes.items() if name not in AT_END}
                actions[at] = Alter(each.topic, tuple(kept.items()))
                waiting[each.topic] = {**waiting.get(each.topic, {}), "cleanup.policy": policy}
        return replace(found, actions=tuple(actions), waiting=waiting)


class OneByOne(TopicSync):
    """Changes each config in a request of its own."""

    def _act(self, actions: Sequence[Action], tried: Tried) -> None:
        apart: list[Action] = []
        for each in actions:
            is_whole = not isinstance(each, Alter)
            apart += [each] if is_whole else [Alter(each.topic, (one,)) for one in each.configs]
        super()._act(apart, tried)


class TriesNothingAgain(TopicSync):
    """Does not tell carriers what the target's topics refuse."""

    def round(self, *needs: Mapping[str, int]) -> tuple[Carried, ...]:
        found = super().round(*needs)
        self.refusing = {}
        return found


class WritesLate(TopicSync):
    """Notes what it writes once it is written."""

    def _write(
        self, wanted: Mapping[str, WrittenConfigs], written: dict[str, WrittenConfigs], tried: Tried
    ) -> set[str]:
        self._late = (wanted, written, tried)
        return set(wanted)

    def _act(self, actions: Sequence[Action], tried: Tried) -> None:
        super()._act(actions, tried)
        super()._write(*self._late)


def _with(name: str, sync: Callable[..., TopicSync], rule: int = 64) -> Mutation:
    return Mutation(rule, name, family="mirror_configs", parts=Parts(topics=sync))


MUTATIONS = (
    _with("a config that no source sets is ignored", IgnoresUnset),
    _with("the source that keeps less wins", KeepsLess),
    _with("limits of timestamps are copied", CopiesJudgments),
    _with("an empty policy is none", FillsPolicy),
    _with("values set by hand are overwritten", Overwrites),
    _with("lower values wait for no record", LowersAtOnce),
    _with("compaction that ends waits for records", WaitsForKeys),
    _with("configs change one by one", OneByOne),
    _with("what a config refused stays parked", TriesNothingAgain),
    _with("changes are noted once they are made", WritesLate),
)
