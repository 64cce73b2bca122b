"""Model of upsert tables: whatever happens, every server shows at every mark what brute force over
the logs says; and each rule is needed for that."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.aggregator.upsert.upsert_mutations import MUTATIONS, Mutation
from tests.aggregator.upsert.upsert_rules import Rules
from tests.aggregator.upsert.upsert_store import SERVERS
from tests.aggregator.upsert.upsert_world import STEP_MS, World

STEPS = 80
ACTIONS: Mapping[str, tuple[int, float]] = {
    "produce": (4, 9),
    "coordinate": (2, 10),
    "kill": (2, 1.5),
    "depose": (0, 0.4),
    "let_zombie": (2, 2),
    "replicate": (3, 6),
    "settle": (3, 5),
    "stop_settling": (1, 0.3),
    "change_checkpoint": (1, 0.6),
    "replace_server": (1, 0.5),
    "add_partition": (1, 0.3),
    "recreate": (1, 0.2),
    "expire": (2, 0.3),
    "accept_losses": (0, 0.3),
    "leave_or_return": (1, 0.2),
    "raise_horizon": (0, 0.6),
    "drop": (1, 1),
    "drop_days": (1, 1),
    "follow": (2, 1.5),
    "send_away": (1, 0.3),
}
"""Actions of the world: how many numbers each takes, and how often it is drawn."""


def play(rules: Rules, seed: int, often: Mapping[str, float]) -> World:
    """Plays a history of random actions; raises AssertionError where a server shows what is not so.

    Args:
        often: weights of actions, other than the usual ones.
    """
    drawn, world = random.Random(seed), World(rules)
    weights = [often.get(name, weight) for name, (_, weight) in ACTIONS.items()]
    for name in drawn.choices(list(ACTIONS), weights, k=STEPS):
        getattr(world, name)(*(drawn.randrange(1 << 16) for _ in range(ACTIONS[name][0])))
        world.check()
    world.rest()
    return world


def away_beyond_the_horizon(rules: Rules) -> World:
    """Plays a history in which a server returns whose ends are gone."""
    world = World(rules, step_ms=STEP_MS // 4)

    def tick(key: int, order: int) -> None:
        world.produce(0, key, order, 1)
        for step in range(8):
            world.coordinate(15, step)
        for server in range(3):
            for which in range(4):
                world.replicate(server, 7, which)
        world.check()

    def settle() -> None:
        world.settlers = []
        for _ in range(4):
            world.settle(0, 15, 0)
        world.check()

    tick(0, 0)
    settle()
    assert all(world.settled(each) for each in SERVERS)
    world.send_away(2)
    for _ in range(4):
        tick(0, 0)
        settle()
    world.raise_horizon()
    world.step_ms = 0  # All days are seen until the end.
    for server in range(3):
        world.drop(server)
        world.check()
    assert world.settled("c") < world.store.horizon <= world.settled("a")
    world.send_away(2)
    tick(1, 0)
    settle()  # The parts of the server are not those of the others yet.
    tick(0, 0)
    world.change_checkpoint(0)
    tick(0, 0)
    settle()
    for which in range(2):
        world.follow(2, which)
    settle()
    assert world.settled("c") == world.settled("a") == world.store.claimed
    world.rest()
    return world


def test_a_server_that_was_away_beyond_the_horizon_is_settled_once_it_follows():
    away_beyond_the_horizon(Rules())


number = st.integers(0, (1 << 16) - 1)


class UpsertTable(RuleBasedStateMachine):
    """Histories that Hypothesis draws, and makes smaller where one fails."""

    @initialize()
    def begin(self) -> None:
        self.world = World()

    @rule(lane=number, key=number, order=number, kind=number)
    def produce(self, lane: int, key: int, order: int, kind: int) -> None:
        self.world.produce(lane, key, order, kind)

    @rule(steps=number, pick=number)
    def coordinate(self, steps: int, pick: int) -> None:
        self.world.coordinate(steps, pick)

    @rule(steps=number, pick=number)
    def kill(self, steps: int, pick: int) -> None:
        self.world.kill(steps, pick)

    @rule()
    def depose(self) -> None:
        self.world.depose()

    @rule(which=number, pick=number)
    def let_zombie(self, which: int, pick: int) -> None:
        self.world.let_zombie(which, pick)

    @rule(server=number, count=number, which=number)
    def replicate(self, server: int, count: int, which: int) -> None:
        self.world.replicate(server, count, which)

    @rule(which=number, steps=number, pick=number)
    def settle(self, which: int, steps: int, pick: int) -> None:
        self.world.settle(which, steps, pick)

    @rule(which=number)
    def stop_settling(self, which: int) -> None:
        self.world.stop_settling(which)

    @rule(how=number)
    def change_checkpoint(self, how: int) -> None:
        self.world.change_checkpoint(how)

    @rule(which=number)
    def add_partition(self, which: int) -> None:
        self.world.add_partition(which)

    @rule(server=number)
    def replace_server(self, server: int) -> None:
        self.world.replace_server(server)

    @rule(which=number)
    def recreate(self, which: int) -> None:
        self.world.recreate(which)

    @rule(lane=number, count=number)
    def expire(self, lane: int, count: int) -> None:
        self.world.expire(lane, count)

    @rule()
    def accept_losses(self) -> None:
        self.world.accept_losses()

    @rule(which=number)
    def leave_or_return(self, which: int) -> None:
        self.world.leave_or_return(which)

    @rule()
    def raise_horizon(self) -> None:
        self.world.raise_horizon()

    @rule(server=number)
    def drop(self, server: int) -> None:
        self.world.drop(server)

    @rule(server=number)
    def drop_days(self, server: int) -> None:
        self.world.drop_days(server)

    def send_away(self, server: int) -> None:
        self.world.send_away(server)

    @rule(server=number, which=number)
    def follow(self, server: int, which: int) -> None:
        self.world.follow(server, which)

    @invariant()
    def every_server_shows_the_newest_rows_at_every_mark(self) -> None:
        if hasattr(self, "world"):
            self.world.check()

    def teardown(self) -> None:
        if hasattr(self, "world"):
            self.world.rest()


TestUpsertTable = UpsertTable.TestCase
TestUpsertTable.settings = settings(
    max_examples=settings.default.max_examples,
    stateful_step_count=STEPS,
    derandomize=True,
    deadline=None,
)


@pytest.mark.parametrize("seed", range(0, 100, 10))
def test_every_server_shows_the_newest_rows_at_every_mark(seed):
    worlds = [play(Rules(), each, {}) for each in range(seed, seed + 10)]
    assert sum(each.store.claimed for each in worlds) > 50
    assert any(each.store.points for each in worlds), "something was settled"


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda each: each.__name__)
def test_each_rule_is_needed(mutation: type[Mutation]):
    """Within the examples that the mutation states, a history without the rule goes wrong."""
    if mutation.is_away:
        with pytest.raises(AssertionError):
            away_beyond_the_horizon(mutation())
        return
    for seed in range(mutation.examples):
        try:
            play(mutation(), seed, mutation.often)
        except AssertionError:
            return
    pytest.fail(f"{mutation.examples} histories went well without the rule")
