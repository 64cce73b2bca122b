"""The rights of docs/operating.md suffice for a whole snapshot, and a missing one is named."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from deploy.lab.kafka import KafkaCluster
from deploy.lab.redis import RedisServer
from deploy.lab.wait import until
from replicator.config.topology import Appliance, load
from replicator.groups.membership.primary_store import PrimaryStore
from replicator.runtime.store_errors import StoreUnreachable
from tests.live import viewer
from tests.live.conftest import NEVER_KILLED
from tests.live.failover_command import Sluice
from tests.live.viewed import GROUP, ROUTE, TOPIC, fill
from tests.live.viewer import Right, rights, without
from tui.commands.exit_codes import ExitCode
from tui.facts.snapshot import Snapshot
from tui.facts.watch.inventory import whole_inventory
from tui.facts.watch.look import look
from tui.facts.watch.question import Answers
from tui.facts.watch.resume_worker import ResumeWorker

TIMEOUT_SECONDS = 15.0
SETTLE_SECONDS = 30.0
TOPICS, SLUICE, GROUPS = "all topics", "topics, prefix `sluice.`", "all groups"
HIDDEN: dict[Right, tuple[tuple[str, str], str]] = {
    Right("regional", TOPICS, "DescribeConfigs"): (("west regional", "topics"), "viewer may not"),
    Right("aggregate", TOPICS, "Describe"): (
        ("west aggregate", "ledger of west>west"),
        "TOPIC_AUTHORIZATION_FAILED",
    ),
    Right("aggregate", TOPICS, "DescribeConfigs"): (("west aggregate", "topics"), "viewer may not"),
    Right("aggregate", SLUICE, "Read"): (
        ("west aggregate", "primary regions"),
        "TOPIC_AUTHORIZATION_FAILED",
    ),
    Right("aggregate", GROUPS, "Describe"): (
        ("west aggregate", "ledger of west>west"),
        "GROUP_AUTHORIZATION_FAILED",
    ),
}
"""Question whose problem names a right that is missing, and words of its text."""


@dataclass(frozen=True, slots=True)
class Scene:
    """Guarded servers with something of everything, and a viewer's configuration of them."""

    clusters: dict[str, KafkaCluster]
    redis: RedisServer
    config: Path
    appliance: Appliance

    def seen(self) -> tuple[Answers, Snapshot]:
        """Returns what the viewer sees now."""
        inventory = whole_inventory(self.appliance, TIMEOUT_SECONDS)
        answers = look(inventory.questions, TIMEOUT_SECONDS)
        return answers, inventory.assembly.snapshot(answers, time.time())


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    directory = tmp_path_factory.mktemp("viewer")
    clusters = {
        role: KafkaCluster(
            role,
            directory,
            properties={**NEVER_KILLED, **viewer.GUARDED},
            security="sasl_plaintext",
            mechanism="SCRAM-SHA-256",
        )
        for role in ("regional", "aggregate")
    }
    redis = RedisServer(directory)
    try:
        for server in (*clusters.values(), redis):
            server.start()
        for server in (*clusters.values(), redis):
            server.wait_ready()
        servers = clusters["regional"], clusters["aggregate"], redis
        own = viewer.configuration(directory / "own", *servers, is_viewer=False)
        config = viewer.configuration(directory / "viewer", *servers, is_viewer=True)
        fill(load(str(own)), clusters["regional"], clusters["aggregate"])
        for role, cluster in clusters.items():
            viewer.grant(cluster, [right for right in rights() if right.cluster == role])
        viewer.admit(redis, viewer.redis_rules())
        scene = Scene(clusters, redis, config, load(str(config)))
        assert until(lambda: not problems(scene.seen()[0]), SETTLE_SECONDS)
        yield scene
    finally:
        for cluster in clusters.values():
            cluster.kill_all()
        redis.kill()


def problems(answers: Answers) -> dict[tuple[str, str], str]:
    return {
        tuple(key): answer.problem
        for key, answer in answers.by_key.items()
        if answer.problem is not None
    }


def test_the_table_has_exactly_the_rights_that_are_tried() -> None:
    unnamed = {Right("regional", TOPICS, "Describe")}
    assert set(rights()) == set(HIDDEN) | unnamed


def test_a_viewer_sees_a_whole_snapshot(scene: Scene) -> None:
    answers, snapshot = scene.seen()
    assert problems(answers) == {}
    assert [key for key, answer in answers.by_key.items() if answer.value is None] == []
    assert {part.problem for part in snapshot.parts} == {None}
    assert {region.regional for region in snapshot.regions} == {"ok"}
    (route,) = [each for each in snapshot.routes if each.route == ROUTE.name]
    (topic,) = route.topics or ()
    (partition,) = topic.partitions
    assert (topic.topic, partition.source_end) == (TOPIC, 10)
    assert partition.mirrored_to is not None
    (group,) = snapshot.groups or ()
    assert (group.group, group.primary, group.lag["west"]) == (GROUP, "west", 7)
    assert [order.why for view in snapshot.balance for order in view.orders] == ["load test"]
    assert [event.text for event in snapshot.events or ()] == ["pause"]
    (west,) = [each for each in snapshot.regions if each.region == "east"]
    assert west.copies_age_seconds is not None


def test_a_viewer_sees_where_a_group_would_resume(scene: Scene) -> None:
    detail = ResumeWorker(scene.appliance, TIMEOUT_SECONDS).detail(GROUP, "west", "east")
    assert detail.problem is None
    (position,) = detail.positions
    assert (position.topic, position.committed["west"]) == (TOPIC, 3)


@pytest.mark.parametrize(
    "words",
    [
        ("status",),
        ("balance", "show", "--region", "west"),
        ("groups", "show", "--region", "west"),
        ("offsets", "show", "--region", "east"),
        ("failover", "plan", "--from", "west", "--to", "east", "--group", GROUP, "--reason", "x"),
    ],
    ids=" ".join,
)
def test_commands_that_only_show_work_for_a_viewer(
    scene: Scene, sluice: Sluice, words: tuple[str, ...]
) -> None:
    code, _, said = sluice(*words, "--config", str(scene.config))
    assert code == ExitCode.DONE, said
    assert "AUTHORIZATION" not in said
    assert "permissions" not in said


@pytest.mark.parametrize("right", HIDDEN, ids=str)
def test_a_missing_right_is_named_where_it_is_missing(scene: Scene, right: Right) -> None:
    key, words = HIDDEN[right]
    with without(scene.clusters[right.cluster], right):
        assert until(lambda: words in problems(scene.seen()[0]).get(key, ""), SETTLE_SECONDS)
        answers, snapshot = scene.seen()
        assert answers.value(next(it for it in answers.by_key if tuple(it) == key)) is None
        assert words in "".join(
            part.problem or "" for part in snapshot.parts if (part.server, part.about) == key
        )
        # The server answers all the same, and other servers are seen as before.
        assert {region.redis for region in snapshot.regions} == {"ok"}
        assert {it[0].split(" ")[1] for it in problems(answers)} == {right.cluster}
    assert until(lambda: not problems(scene.seen()[0]), SETTLE_SECONDS)


def test_topics_that_may_not_be_described_are_not_listed(scene: Scene) -> None:
    right = Right("regional", TOPICS, "Describe")

    def topics() -> list[str]:
        route = next(each for each in scene.seen()[1].routes if each.route == ROUTE.name)
        return [topic.topic for topic in route.topics or ()]

    with without(scene.clusters["regional"], right):
        assert until(lambda: TOPIC not in topics(), SETTLE_SECONDS)
    assert until(lambda: TOPIC in topics(), SETTLE_SECONDS)


def test_a_redis_without_the_right_to_read_is_named(scene: Scene) -> None:
    viewer.admit(scene.redis, ["~sluice:*", "+@connection"])
    try:
        answers, snapshot = scene.seen()
        texts = {text for (server, _), text in problems(answers).items() if "Redis" in server}
        assert texts
        assert all("no permissions" in text for text in texts)
        assert all("lacks the right" in text for text in texts)
        assert {region.redis for region in snapshot.regions} == {"no right"}
        assert "right/west Redis" in {alert.key for alert in snapshot.alerts or ()}
        assert not [alert for alert in snapshot.alerts or () if "does not answer" in alert.text]
        assert {region.regional for region in snapshot.regions} == {"ok"}
    finally:
        viewer.admit(scene.redis, viewer.redis_rules())
    assert problems(scene.seen()[0]) == {}


def test_a_viewer_cannot_write(scene: Scene, sluice: Sluice) -> None:
    words = ["balance", "pause", "--route", ROUTE.name, "--reason", "x"]
    code, _, said = sluice(*words, "--config", str(scene.config))
    assert code != ExitCode.DONE
    assert "uthoriz" in said or "may not" in said
    with PrimaryStore(scene.appliance.region("west").redis_url()) as store:
        records = store.all().values()
        with pytest.raises(StoreUnreachable, match="no permissions"):
            store.write(records)
