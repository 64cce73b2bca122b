"""Changes of a topic's configs, as operators make them while records flow and processes die.

Only the course of configs deals them. Each waits until the target follows, for some seconds: a
driver that misses a change between two others need not follow it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from tests.world.checks.followed_configs import check_kept, kept_at_both, until_followed
from tests.world.faults.fault import Fault
from tests.world.kafka.kafka_cluster import KafkaCluster
from tests.world.mirror.config_changes import ConfigChanges
from tests.world.mirror.scene import Scene

SEEN_SECONDS = 2.0
"""Time in which a driver has seen a change, and carriers move on."""
FOLLOWED_SECONDS = 8.0
PURGED_SECONDS = 3.0
AWAY_SECONDS = (3.0, 5.0)
"""Time for which carriers stand still: less than the time after which others get their work."""
OLD_MS = 2000
LOW = (
    {"retention.ms": "1000"},
    {"max.message.bytes": "1000"},
)
LAGS = (("50", "100"), ("500", "900"), ("20", "30"))
HAND = ({"retention.ms": "777000000"}, {"segment.ms": "888000"}, {"max.message.bytes": "2000000"})
"""Values that no source has; they keep and take more than those of sources."""


async def purge(scene: Scene) -> None:
    """Empties the topic at one source, or at both, by its retention; then deletes the override."""
    configs = _configs(scene)
    clusters = _some(scene)
    await _change(scene, clusters, {"retention.ms": "1000"})
    await until_followed(scene, FOLLOWED_SECONDS)
    await asyncio.sleep(PURGED_SECONDS)
    await _change(scene, configs.sources, {"retention.ms": None})
    await until_followed(scene, FOLLOWED_SECONDS)


async def lower_before_backlog(scene: Scene) -> None:
    """Both sources lower a config while carriers stand still; later they raise it again."""
    configs, lower = _configs(scene), scene.dice.choice(LOW)
    seconds = _stand_still(scene)
    await _backlog(scene)
    await _change(scene, configs.sources, lower)
    await asyncio.sleep(seconds)
    await until_followed(scene, FOLLOWED_SECONDS)
    await _change(scene, configs.sources, dict.fromkeys(lower))
    await until_followed(scene, FOLLOWED_SECONDS)


async def compact(scene: Scene) -> None:
    """Both sources compact the topic while carriers stand still, and end it with records that have
    no key."""
    configs = _configs(scene)
    seconds = _stand_still(scene)
    await _backlog(scene, keyless_share=0.5)
    await _change(scene, configs.sources, {"cleanup.policy": "compact"})
    await asyncio.sleep(seconds)
    await until_followed(scene, FOLLOWED_SECONDS)
    await _change(scene, configs.sources, {"cleanup.policy": None})
    await _backlog(scene, keyless_share=0.9)
    await until_followed(scene, FOLLOWED_SECONDS)


async def set_by_hand(scene: Scene) -> None:
    """Somebody sets a config on the target, and sources change theirs; sometimes it is deleted
    there again."""
    configs, hand = _configs(scene), scene.dice.choice(HAND)
    await _change(scene, (configs.target,), hand)
    await asyncio.sleep(SEEN_SECONDS)
    await _change(scene, configs.sources, {next(iter(hand)): "3000000"})
    await asyncio.sleep(SEEN_SECONDS)
    await _change(scene, configs.sources, dict.fromkeys(hand))
    # Retention that stays would hide what others of these changes do.
    if "retention.ms" in hand or scene.dice.random() < 0.5:
        await _change(scene, (configs.target,), dict.fromkeys(hand))
    await until_followed(scene, FOLLOWED_SECONDS)


async def change_lags(scene: Scene) -> None:
    """Sources change both bounds of the compaction's lag, at once, again and again."""
    for low, high in scene.dice.sample(LAGS, len(LAGS)):
        changes = {"min.compaction.lag.ms": low, "max.compaction.lag.ms": high}
        await _change(scene, _configs(scene).sources, changes)
        await until_followed(scene, FOLLOWED_SECONDS)


async def judge_old(scene: Scene) -> None:
    """A source takes no old records, and carriers stand still until those that it took are old."""
    configs = _configs(scene)
    await _change(scene, (configs.source,), {"message.timestamp.before.max.ms": str(OLD_MS)})
    await asyncio.sleep(SEEN_SECONDS)
    seconds = _stand_still(scene)
    await _backlog(scene)
    await asyncio.sleep(seconds + SEEN_SECONDS)
    await _change(scene, (configs.source,), {"message.timestamp.before.max.ms": None})
    await until_followed(scene, FOLLOWED_SECONDS)


async def keep_for_ever(scene: Scene) -> None:
    """The source of the records keeps them, whatever its retention says, or both sources do."""
    configs = _configs(scene)
    clusters = scene.dice.choice([(configs.source,), configs.sources])
    await _change(scene, clusters, {"cleanup.policy": ""})
    await asyncio.sleep(SEEN_SECONDS)
    await _change(scene, configs.sources, {"retention.ms": "1000"})
    await until_followed(scene, FOLLOWED_SECONDS)
    before = kept_at_both(scene)
    await asyncio.sleep(PURGED_SECONDS)
    check_kept(scene, before)
    await _change(scene, configs.sources, {"cleanup.policy": None, "retention.ms": None})
    await until_followed(scene, FOLLOWED_SECONDS)


async def die_at_record(scene: Scene) -> None:
    """A driver dies as a change is made, and another one between the record of the next and it."""
    configs = _configs(scene)

    def kill() -> None:
        for run in scene.mirroring.drivers():
            scene.tell(f"kill {run.process.name} at its record")
            run.process.kill()

    def amid(*_: object) -> None:
        if not configs.is_changing:
            configs.target.on_altered.remove(amid)
            kill()

    configs.target.on_altered.append(amid)
    name, value = scene.dice.choice([("segment.ms", "5000"), ("retention.ms", "-1")])
    await _change(scene, configs.sources, {name: value})
    await until_followed(scene, FOLLOWED_SECONDS)
    configs.kept.at_write = kill
    await _change(scene, configs.sources, {name: None})
    await until_followed(scene, FOLLOWED_SECONDS)


async def _change(
    scene: Scene, clusters: tuple[KafkaCluster, ...], changes: Mapping[str, str | None]
) -> None:
    """Changes configs between the sends of producers: none of theirs is refused for ever."""
    configs = _configs(scene)
    names = ", ".join(it.name for it in clusters)
    for sender in scene.senders:
        await sender.lock.acquire()
    scene.tell(f"{names}: {dict(changes)}")
    configs.set(clusters, changes)
    for sender in scene.senders:
        sender.is_keyed = "compact" in configs.value(configs.source, "cleanup.policy")
        sender.lock.release()


async def _backlog(scene: Scene, keyless_share: float = 0.0) -> None:
    """Sends some large records."""
    for sender in scene.senders:
        before, sender.keyless_share = sender.keyless_share, keyless_share
        await sender.send(scene.dice.randint(3, 8), padding=1500)
        sender.keyless_share = before


def _stand_still(scene: Scene) -> float:
    """Stops all carriers; returns for how many seconds."""
    seconds = scene.dice.uniform(*AWAY_SECONDS)
    scene.tell(f"carriers stand still for {seconds:.1f} s")
    for victim in scene.running():
        victim.stop()
        scene.loop.call_later(seconds, victim.resume)
    return seconds


def _some(scene: Scene) -> tuple[KafkaCluster, ...]:
    configs = _configs(scene)
    return scene.dice.choice([(configs.source,), (configs.other,), configs.sources])


def _configs(scene: Scene) -> ConfigChanges:
    assert scene.configs is not None
    return scene.configs


KINDS = {
    "purge": purge,
    "compact": compact,
    "lower": lower_before_backlog,
    "by hand": set_by_hand,
    "lags": change_lags,
    "old records": judge_old,
    "for ever": keep_for_ever,
    "deaths": die_at_record,
}


async def change_configs(scene: Scene) -> None:
    """Plays one kind of change; each comes once before one comes again."""
    configs = _configs(scene)
    if not configs.to_come:
        configs.to_come = scene.dice.sample(sorted(KINDS), len(KINDS))
    await KINDS[configs.to_come.pop()](scene)


CONFIGS = (Fault("change a topic's configs", change_configs),)
