"""Histories of configs: sources, operators and drivers act in any order, and the target keeps what
its sources keep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

from hypothesis import strategies as st

from balancer.topic_partition import TopicPartition
from replicator.config.settings import TopicSettings
from replicator.kafka.admin.admin import Outcome
from replicator.kafka.admin.admin_error import AdminUnreachable
from replicator.kafka.admin.topic import policies
from replicator.kafka.admin.topic_changes import Action, Alter
from replicator.mirror.topics.topic_configs import ALWAYS
from tests.replicator.mirror.topics.played_cluster import PlayedCluster
from tests.replicator.mirror.topics.test_followed_configs import ROUTES, Site

PLACE = TopicPartition("orders", 0)
VALUES = {
    "cleanup.policy": ["", "compact", "delete", "compact,delete"],
    "max.message.bytes": ["1000", "3000000"],
    "retention.ms": ["1000", "5000", "-1"],
    "segment.ms": ["1000", "99000"],
}
BY_HAND = {"max.message.bytes": "500000", "retention.ms": "777", "segment.ms": "888"}
"""Values that no source has: an operator's are told from those of sources."""
WAITING = ("cleanup.policy", "max.message.bytes", "retention.ms")
NEEDS_BYTES = 4_000_000


def size(value: str) -> float:
    return inf if value == "-1" else float(value)


def keeps_less(name: str, before: str, value: str) -> bool:
    """Returns True if a topic keeps or takes less with a value than with the one before."""
    if name == "cleanup.policy":
        return bool(policies(value) - policies(before))
    return size(value) < size(before)


class Target(PlayedCluster):
    """Target that shows each change to the history before it is made."""

    history: History
    fails = ""
    """Next change: "before" it is made, or "behind" it, the target does not answer."""

    def apply(self, actions: Sequence[Action]) -> list[Outcome]:
        fails, self.fails = self.fails, ""
        if fails == "before":
            raise AdminUnreachable(self.name, "no answer")
        for action in actions:
            if isinstance(action, Alter):
                self.history.check_change(dict(action.configs))
        done = super().apply(actions)
        if fails:
            raise AdminUnreachable(self.name, "no answer")
        return done


class History:
    """Sources, a target, and the driver of its region, with what each step has to keep.

    Args:
        west_brokers: configs that the brokers of the first source set for all topics.
    """

    def __init__(self, names: Sequence[str], west_brokers: Mapping[str, str]) -> None:
        clusters = [PlayedCluster(it, brokers=west_brokers if it == "west" else {}) for it in names]
        for each in clusters:
            each.make()
        self.target = Target("target")
        self.target.history = self
        self.site = Site(*clusters, target=self.target)
        self.site.settings = TopicSettings(compact_many_sources=("orders",))
        self.site.restart()
        self.sources = self.site.sources
        self.mirrored = dict.fromkeys(self.sources, 0)
        self.needs_bytes = 0
        self.hand: dict[str, str] = {}
        self.seen: dict[str, tuple[str, dict[str, int]]] = {}
        """Lower values that the driver has seen, with the sources' ends at that time."""
        self.round()

    def play(self, kind: str, source: str, name: str, value: str, is_seen: bool) -> None:
        """Plays a step.

        Args:
            source: that changes; one that there is not stands for all.
            is_seen: a round of the driver follows.
        """
        clusters = [self.sources[source]] if source in self.sources else [*self.sources.values()]
        for each in clusters:
            each.ends[PLACE] = each.ends.get(PLACE, 0) + 10
            match kind:
                case "set":
                    each.own["orders"][name] = value
                case "unset":
                    each.unset(name)
                case "silence":
                    each.is_silent = not each.is_silent
        match kind:
            case "mirror":
                for it, each in self.sources.items():
                    if not each.is_silent:
                        self.mirrored[it] = each.ends.get(PLACE, 0)
            case "by hand" if name in BY_HAND:
                self.hand[name] = self.target.own["orders"][name] = BY_HAND[name]
            case "as before" if self.hand.pop(name, None):
                self.target.unset(name)
            case "needs":
                self.needs_bytes = NEEDS_BYTES - self.needs_bytes
            case "restart":
                self.site.restart()
            case "fail before" | "fail behind":
                self.target.fails = kind.removeprefix("fail ")
        if is_seen:
            self.round()

    def round(self) -> None:
        """Plays a round of the driver, and another one if what was mirrored releases a value."""
        needs = {"orders": self.needs_bytes} if self.needs_bytes else {}
        mirrored = {ROUTES[source]: {PLACE: at} for source, at in self.mirrored.items()}
        try:
            self._look()
            self.site.sync.round(needs)
            if self.site.sync.advance(mirrored):
                self._look()
                self.site.sync.round(needs)
        except AdminUnreachable:
            self.site.restart()
        else:
            self._check_raised()

    def wanted(self, name: str) -> str:
        """Returns the value that all sources together ask for."""
        values = [each.value(name) for each in self.sources.values()]
        each = [policies(it.value("cleanup.policy")) for it in self.sources.values()]
        common = frozenset.intersection(*each)
        if name == "cleanup.policy":
            return ",".join(sorted(common)) or ("delete" if all(each) else "")
        if name == "retention.ms" and all(each) and not common:
            return "-1"
        largest = max(values, key=size)
        if name == "max.message.bytes" and int(largest) < self.needs_bytes:
            return str(1 << 22)
        return largest

    def _look(self) -> None:
        """Notes which lower values the driver sees now, and where the sources end."""
        before, self.seen = self.seen, {}
        if any(each.is_silent for each in self.sources.values()) or "orders" not in self.target.own:
            return
        ends = {source: each.ends.get(PLACE, 0) for source, each in self.sources.items()}
        for name in WAITING:
            value = self.wanted(name)
            if keeps_less(name, self.target.value(name), value) and name not in self.hand:
                known = before.get(name)
                self.seen[name] = known if known and known[0] == value else (value, ends)

    def check_change(self, configs: Mapping[str, str]) -> None:
        """Checks a change that the driver is about to make."""
        for name in configs.keys() - ALWAYS.keys():
            value = configs[name]
            assert name not in self.hand, "a value that was set by hand is overwritten"
            if name in WAITING and keeps_less(name, self.target.value(name), value):
                assert name in self.seen, "it is lowered, and a source is silent or wants more"
                if name == "cleanup.policy" and self._ends_compaction(configs):
                    continue  # unread records may have no key
                _, ends = self.seen[name]
                unread = {it: end for it, end in ends.items() if self.mirrored[it] < end}
                assert not unread, "it is lowered before what sources had is mirrored"
            if name == "cleanup.policy":
                continue  # whether one source's policy is less than another's depends on retention
            for each in self.sources.values():
                is_less = keeps_less(name, each.value(name), value)
                assert each.is_silent or not is_less, "a source keeps or takes more"

    def _ends_compaction(self, configs: Mapping[str, str]) -> bool:
        """Returns True if the topic is compacted no more, and deletes nothing either."""
        ended = policies(self.target.value("cleanup.policy")) - policies(configs["cleanup.policy"])
        kept = configs.get("retention.ms", self.target.value("retention.ms"))
        return "compact" in ended and (kept == "-1" or "retention.ms" in self.hand)

    def _check_raised(self) -> None:
        """Checks that the target takes and keeps what each source that answers does, at once."""
        for name in ("max.message.bytes", "retention.ms"):
            here = self.target.value(name)
            for each in self.sources.values():
                is_less = keeps_less(name, each.value(name), here)
                assert each.is_silent or name in self.hand or not is_less, "it is not raised"
        is_away = all(each.is_silent for each in self.sources.values())
        limit = int(self.target.value("max.message.bytes"))
        assert is_away or limit >= self.needs_bytes or "max.message.bytes" in self.hand

    def check_end(self) -> None:
        """Checks that sources and operators have what they want, once all is mirrored."""
        self.needs_bytes = 0
        for source, each in self.sources.items():
            each.is_silent = False
            self.mirrored[source] = each.ends.get(PLACE, 0)
        for _ in range(3):
            self.round()
        wanted = {name: self.hand.get(name) or self.wanted(name) for name in VALUES}
        assert {name: self.target.value(name) for name in VALUES} == wanted


KINDS = (
    *("set", "set", "set", "unset", "unset", "mirror", "mirror", "by hand", "as before"),
    *("silence", "needs", "restart", "fail before", "fail behind"),
)
Step = tuple[str, str, str, str, bool]
"""Arguments of History.play."""


def steps(names: Sequence[str]) -> st.SearchStrategy[list[Step]]:
    """Returns steps that change these configs."""
    return st.lists(st.one_of(*(STEPS[name] for name in names)), min_size=3, max_size=40)


STEPS = {
    name: st.tuples(
        st.sampled_from(KINDS),
        st.sampled_from(["west", "east", "all"]),
        st.just(name),
        st.sampled_from(values),
        st.sampled_from([True, True, False]),
    )
    for name, values in VALUES.items()
}
NAMES = (("retention.ms",), ("max.message.bytes",), ("cleanup.policy", "retention.ms"), (*VALUES,))
HISTORIES = st.one_of(*map(steps, NAMES))
