"""`sluice groups` against real clusters and Redis servers: its output and what it writes."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from confluent_kafka import Consumer
from redis import Redis

from deploy.lab.kafka import KafkaCluster
from deploy.lab.process import free_port
from deploy.lab.redis import RedisServer
from deploy.lab.wait import until
from replicator.config import topology
from replicator.groups.membership.activity import ActivityStore
from replicator.groups.membership.primary_log import PrimaryLog
from replicator.groups.membership.primary_region import PrimaryRegion, decided
from replicator.groups.membership.primary_store import PrimaryStore
from tui.commands.exit_codes import ExitCode
from tui.program import run

PATIENCE_SECONDS = 60.0
REASON = "the bank is in the west"


class Lab:
    """Two regions whose aggregates are the shared clusters, and one group."""

    def __init__(
        self, file: Path, aggregates: dict[str, KafkaCluster], redis: dict[str, RedisServer]
    ) -> None:
        self.group = f"group-{uuid.uuid4().hex[:8]}"
        self.redis = redis
        self.aggregates = aggregates
        self._file = file
        self.configure()

    def configure(self, **aggregates: str) -> None:
        """Writes the configuration, with other addresses for some regions' aggregates."""
        text = ""
        for number, (region, cluster) in enumerate(self.aggregates.items(), 1):
            bootstrap = aggregates.get(region, cluster.bootstrap)
            text += (
                f'[regions.{region}]\nredis = "{self.redis[region].url}"\n'
                f'regional.bootstrap = ["127.0.0.1:{number}"]\n'
                f"aggregate.bootstrap = {json.dumps(bootstrap.split(','))}\n"
            )
        self._file.write_text(text)

    def run(self, *arguments: str) -> int:
        command, *rest = arguments
        return run(["groups", command, "--config", str(self._file), "--timeout", "3", *rest])

    def set_primary(self, *options: str) -> int:
        return self.run("set-primary", self.group, "--reason", REASON, *options)

    def shown(self, capsys, region: str) -> dict[str, Any]:
        """Returns the JSON that `sluice groups show` of a region prints for the group."""
        capsys.readouterr()
        self.run("show", "--region", region, "--group", self.group, "-o", "json")
        (found,) = json.loads(capsys.readouterr().out)["groups"]
        assert isinstance(found, dict)
        return found

    def log(self, region: str) -> PrimaryLog:
        table = self.aggregates[region].topology_table()
        return PrimaryLog(region, topology.KafkaCluster.model_validate(table))

    def record(self, region: str) -> PrimaryRegion | None:
        """Returns the group's record in the region's topic."""
        return self.log(region).read().get(self.group)

    @contextmanager
    def consuming(self, region: str, topic: str) -> Iterator[None]:
        """Runs a member of the group in the region."""
        options = self.aggregates[region].librdkafka_options()
        consumer = Consumer({**options, "group.id": self.group})
        assigned = []
        consumer.subscribe([topic], on_assign=lambda _, places: assigned.extend(places))
        try:
            assert until(lambda: bool(consumer.poll(0.1) or assigned), PATIENCE_SECONDS)
            yield
        finally:
            consumer.close()


@pytest.fixture
def lab(tmp_path, regional, aggregate, redis, make_redis) -> Lab:
    aggregates = {"west": regional, "east": aggregate}
    return Lab(tmp_path / "appliance.toml", aggregates, {"west": redis, "east": make_redis()})


@pytest.mark.core
def test_a_decision_is_shown_with_its_operator_time_and_reason(lab, capsys):
    assert lab.set_primary("--to", "west") == ExitCode.DONE
    assert "No offsets were moved" in capsys.readouterr().out
    found = lab.shown(capsys, "west")
    assert (found["primary"], found["has_record"]) == ("west", True)
    assert (found["generation"], found["why"], found["previous"]) == (1, REASON, None)
    assert "@" in found["who"] and found["decided_at_ms"] > 0
    record = lab.record("west")
    assert record is not None and record.region == "west"
    with PrimaryStore(lab.redis["west"].url) as store:
        assert store.all()[lab.group] == record


def test_a_change_overrules_a_decision_of_another_region(lab, capsys):
    """West's decision is not copied to east; the command reads it from west itself."""
    assert lab.set_primary("--to", "west") == ExitCode.DONE
    assert lab.set_primary("--to", "east") == ExitCode.DONE
    assert lab.shown(capsys, "east")["generation"] == 2
    assert lab.shown(capsys, "west")["primary"] == "east"
    assert lab.set_primary("--any-region", "--region", "west") == ExitCode.DONE
    found = lab.shown(capsys, "east")
    assert (found["primary"], found["has_record"]) == (None, True)
    assert (found["generation"], found["previous"]) == (3, "east")


def test_the_same_once_more_changes_nothing(lab, capsys):
    for _ in range(2):
        assert lab.set_primary("--to", "west", "-o", "yaml") == ExitCode.DONE
    first, again = (
        yaml.safe_load(text)["groups"][0]
        for text in capsys.readouterr().out.split("schema_version: 2\n")[1:]
    )
    assert (first.pop("is_new"), again.pop("is_new")) == (True, False)
    assert first == again
    assert lab.shown(capsys, "west")["generation"] == 1


def test_the_regions_of_a_groups_members_are_shown_and_whether_it_is_in_place(
    lab, capsys, make_topic
):
    topic = make_topic(*lab.aggregates.values())
    assert lab.set_primary("--to", "west") == ExitCode.DONE
    with lab.consuming("east", topic):
        for region in ("west", "east"):
            found = lab.shown(capsys, region)
            assert (found["members"], found["is_out_of_place"]) == (["east"], True)
        with lab.consuming("west", topic):
            assert lab.shown(capsys, "west")["is_active_twice"]
            assert lab.run("show", "--region", "west") == ExitCode.DONE
            assert "ACTIVE TWICE" in capsys.readouterr().out
    assert lab.shown(capsys, "west")["members"] == []


def test_a_group_with_members_elsewhere_is_refused_unless_confirmed(lab, capsys, make_topic):
    topic = make_topic(*lab.aggregates.values())
    with lab.consuming("east", topic):
        assert lab.set_primary("--to", "west") == ExitCode.REFUSED
        assert f"group {lab.group!r} has members in east" in capsys.readouterr().err
        assert lab.record("west") is None
        assert lab.shown(capsys, "west")["primary"] is None
        assert lab.set_primary("--to", "east") == ExitCode.DONE
        assert lab.set_primary("--to", "west", "--yes") == ExitCode.DONE
        assert lab.set_primary("--any-region", "--region", "east") == ExitCode.DONE


def test_published_members_of_other_regions_are_used_without_asking_them(lab, capsys):
    nobody = f"127.0.0.1:{free_port()}"
    lab.configure(east=nobody)
    with ActivityStore(lab.redis["west"].url) as store:
        store.publish("east", [lab.group], time.time_ns() // 1_000_000)
    assert lab.set_primary("--to", "west") == ExitCode.REFUSED
    assert lab.shown(capsys, "west")["members"] == ["east"]


def test_a_lost_region_prevents_no_decision(lab, capsys):
    lab.configure(east=f"127.0.0.1:{free_port()}")
    assert lab.set_primary("--to", "west") == ExitCode.DONE
    said = capsys.readouterr().err
    assert "not known: which groups have members in east" in said
    assert "problem: east aggregate" in said
    assert lab.run("show", "--region", "west") == ExitCode.UNREACHABLE
    assert lab.group in capsys.readouterr().out


def test_a_region_that_is_lost_cannot_record_anything(lab, capsys):
    lab.configure(east=f"127.0.0.1:{free_port()}")
    assert lab.set_primary("--to", "east") == ExitCode.UNREACHABLE
    assert "east aggregate" in capsys.readouterr().err
    assert lab.set_primary("--to", "east", "--region", "west") == ExitCode.DONE


def test_after_a_flush_of_all_redis_servers_decisions_are_still_known(lab, capsys):
    assert lab.set_primary("--to", "west") == ExitCode.DONE
    for server in lab.redis.values():
        with Redis.from_url(server.url) as client:
            client.flushall()
    assert lab.shown(capsys, "east")["primary"] == "west"
    assert lab.set_primary("--to", "east") == ExitCode.DONE
    assert lab.shown(capsys, "west")["generation"] == 2


def test_without_its_redis_it_is_recorded_and_the_same_once_more_finishes_it(lab, capsys):
    away = lab.redis["east"]
    away.kill()
    assert lab.set_primary("--to", "east") == ExitCode.PARTLY_DONE
    assert "problem: recorded in the log, but Redis at" in capsys.readouterr().out
    record = lab.record("east")
    assert record is not None
    away.start()
    away.wait_ready()
    assert lab.set_primary("--to", "east") == ExitCode.DONE
    with PrimaryStore(away.url) as store:
        assert store.all()[lab.group] == record


def test_a_decision_that_was_copied_is_known_though_its_region_is_lost(lab, capsys):
    record = decided(None, lab.group, "east", at_ms=1, who="ann@ops", why=REASON)
    with PrimaryStore(lab.redis["west"].url) as store:
        store.write([record])
    lab.configure(east=f"127.0.0.1:{free_port()}")
    assert lab.shown(capsys, "west")["primary"] == "east"
    assert lab.set_primary("--to", "west") == ExitCode.DONE
    assert lab.shown(capsys, "west")["generation"] == 2
