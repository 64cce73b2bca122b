"""A region whose balancer and driver a test plays, and the CLI that is run against it."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from balancer.carrier_plan import CarrierId, Plan
from balancer.topic_partition import TopicPartition
from deploy.lab.kafka import KafkaCluster
from deploy.lab.redis import RedisServer
from replicator.config.topology import load
from replicator.orders.active_plan import ActivePlan
from replicator.orders.balance_log import BalanceLog, Publisher
from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import Lease, Placed, by_carrier
from replicator.orders.round_status import RoundStatus
from replicator.orders.status_board import StatusBoard
from tests.live.failover_command import Sluice

PATIENCE_SECONDS = 60.0
REASON = ("--reason", "because")
ORDERS = tuple(TopicPartition("orders", number) for number in range(3))
PAYMENTS = (TopicPartition("payments", 0),)


class Balanced:
    """A region with a unique name on the shared aggregate cluster, with one route into it."""

    def __init__(self, directory: Path, aggregate: KafkaCluster, redis: RedisServer) -> None:
        self.region = f"east-{uuid.uuid4().hex[:8]}"
        self.route, self.key = f"west>{self.region}", f"west.{self.region}"
        self.redis = redis
        self.config = directory / "appliance.toml"
        self._bootstrap = aggregate.bootstrap
        self.configure()
        appliance = load(self.config)
        self.cluster = appliance.region(self.region).aggregate
        self.log = BalanceLog("aggregate", self.cluster)

    def configure(self, aggregate: str | None = None, redis: str | None = None) -> None:
        """Writes the configuration, with another address of the aggregate or of Redis if given."""
        nowhere = [f'["127.0.0.1:{number}"]' for number in (1, 2, 3)]
        bootstrap = json.dumps((aggregate or self._bootstrap).split(","))
        self.config.write_text(
            f'routes = ["{self.route}"]\n'
            f'[regions.west]\nredis = "{self.redis.url}"\n'
            f"regional.bootstrap = {nowhere[0]}\naggregate.bootstrap = {nowhere[1]}\n"
            f'[regions.{self.region}]\nredis = "{redis or self.redis.url}"\n'
            f"regional.bootstrap = {nowhere[2]}\naggregate.bootstrap = {bootstrap}\n"
        )

    def order_log(self) -> OrderLog:
        return self.log.read()

    def said(self, **more: Any) -> dict[str, Any]:
        return {"route": self.key, "at_ms": now_ms(), "who": "balancer", **more}

    def placed(self, generation: int = 3, moved: bool = False) -> Placed:
        carriers = (1, 0, 1, 1) if moved else (0, 0, 1, 1)
        return Placed(
            **self.said(stream="default", generation=generation),
            carriers=(0, 1),
            topics=by_carrier(zip((*ORDERS, *PAYMENTS), carriers, strict=True)),
        )

    def lease(self) -> Lease:
        return Lease(route=self.region, at_ms=now_ms(), who="balancer pid 1", since_ms=now_ms())

    def publish(self, *records: Any, tombstones: tuple[bytes, ...] = ()) -> None:
        """Publishes records as a balancer does."""
        self.log.make_topic()
        publisher = Publisher("aggregate", self.cluster, self.region)
        publisher.open()
        publisher.publish(records, tombstones)

    def show_driver(self, *generations: tuple[str, int]) -> None:
        """Shows a plan on the status board, as a driver does."""
        loads = {
            CarrierId(self.key, 0): ORDERS[:2],
            CarrierId(self.key, 1): (ORDERS[2], *PAYMENTS),
        }
        followed = tuple((self.key, stream, number) for stream, number in generations)
        with closing(StatusBoard(self.redis.url, self.region)) as board:
            board.show_plan(ActivePlan(Plan(5, loads), 4, time.time(), followed))

    def show_round(self, generation: int) -> None:
        told = RoundStatus(
            route=self.key,
            stream="default",
            at_ms=now_ms(),
            generation=generation,
            partitions=4,
            loads={0: 0.5, 1: 0.25},
            counts={0: 2, 1: 2},
            bound=0.4,
        )
        with closing(StatusBoard(self.redis.url, self.region)) as board:
            board.show_rounds([told])


def now_ms() -> int:
    return time.time_ns() // 1_000_000


@pytest.fixture
def balanced(tmp_path: Path, aggregate: KafkaCluster, redis: RedisServer) -> Balanced:
    return Balanced(tmp_path, aggregate, redis)


Ask = Callable[..., tuple[int, str, str]]


@pytest.fixture
def ask(sluice: Sluice, balanced: Balanced) -> Ask:
    """`ask("balance", "show")`: runs it for that region; exit code, stdout and stderr."""

    def ask(group: str, command: str, *arguments: str) -> tuple[int, str, str]:
        where = ("--config", str(balanced.config), "--region", balanced.region)
        return sluice(group, command, *where, *arguments)

    return ask


@pytest.fixture
def values(ask: Ask) -> Callable[..., Any]:
    """Runs a command, checks its exit code, and returns its JSON output."""

    def values(*arguments: str, code: int = 0) -> Any:
        ended, out, err = ask(*arguments, "-o", "json")
        assert ended == code, (out, err)
        return json.loads(out)

    return values
