"""`sluice balance` and `sluice stream` on real servers; tests play the balancer and the driver."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from balancer.plan import CarrierId, Plan, TopicPartition
from deploy.lab.kafka import KafkaCluster
from deploy.lab.process import free_port
from deploy.lab.redis import RedisServer
from deploy.lab.wait import until
from replicator.config.topology import load
from replicator.placements.balance_log import BalanceLog, Publisher
from replicator.placements.board import Board
from replicator.placements.book import Book
from replicator.placements.in_force import InForce
from replicator.placements.records import Answer, ByHand, Lease, Placed, by_carrier, key_of
from replicator.placements.round_status import RoundStatus
from tests.live.failover_command import Sluice
from tui.exit_codes import ExitCode

PATIENCE_SECONDS = 60.0
REASON = ("--reason", "because")
ORDERS = tuple(TopicPartition("orders", number) for number in range(3))
PAYMENTS = (TopicPartition("payments", 0),)


class Balanced:
    """A region of a new name on the shared aggregate cluster, with one route into it."""

    def __init__(self, directory: Path, aggregate: KafkaCluster, redis: RedisServer) -> None:
        self.region = f"east-{uuid.uuid4().hex[:8]}"
        self.route, self.key = f"west>{self.region}", f"west.{self.region}"
        self.redis = redis
        self.config = directory / "appliance.toml"
        self._bootstrap = aggregate.bootstrap
        self.configure()
        appliance = load(self.config)
        self._cluster = appliance.region(self.region).aggregate
        self.log = BalanceLog("aggregate", self._cluster)

    def configure(self, aggregate: str | None = None, redis: str | None = None) -> None:
        """With another address of its aggregate, or of its Redis."""
        nowhere = [f'["127.0.0.1:{number}"]' for number in (1, 2, 3)]
        bootstrap = json.dumps((aggregate or self._bootstrap).split(","))
        self.config.write_text(
            f'routes = ["{self.route}"]\n'
            f'[regions.west]\nredis = "{self.redis.url}"\n'
            f"regional.bootstrap = {nowhere[0]}\naggregate.bootstrap = {nowhere[1]}\n"
            f'[regions.{self.region}]\nredis = "{redis or self.redis.url}"\n'
            f"regional.bootstrap = {nowhere[2]}\naggregate.bootstrap = {bootstrap}\n"
        )

    def book(self) -> Book:
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

    def publish(self, *records: Any, taken_back: tuple[bytes, ...] = ()) -> None:
        """As a balancer does."""
        self.log.make_topic()
        publisher = Publisher("aggregate", self._cluster, self.region)
        publisher.open()
        publisher.publish(records, taken_back)

    def show_driver(self, *generations: tuple[str, int]) -> None:
        """As a driver does."""
        loads = {
            CarrierId(self.key, 0): ORDERS[:2],
            CarrierId(self.key, 1): (ORDERS[2], *PAYMENTS),
        }
        followed = tuple((self.key, stream, number) for stream, number in generations)
        with closing(Board(self.redis.url, self.region)) as board:
            board.show_plan(InForce(Plan(5, loads), 4, time.time(), followed))

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
        with closing(Board(self.redis.url, self.region)) as board:
            board.show_rounds([told])


def now_ms() -> int:
    return time.time_ns() // 1_000_000


@pytest.fixture
def balanced(tmp_path: Path, aggregate: KafkaCluster, redis: RedisServer) -> Balanced:
    return Balanced(tmp_path, aggregate, redis)


Ask = Callable[..., tuple[int, str, str]]


@pytest.fixture
def ask(sluice: Sluice, balanced: Balanced) -> Ask:
    """`ask("balance", "show")`: of that region; its exit code, stdout and stderr."""

    def ask(group: str, command: str, *arguments: str) -> tuple[int, str, str]:
        where = ("--config", str(balanced.config), "--region", balanced.region)
        return sluice(group, command, *where, *arguments)

    return ask


@pytest.fixture
def values(ask: Ask) -> Callable[..., Any]:
    """The same, as values; the command has to end well."""

    def values(*arguments: str, code: int = 0) -> Any:
        ended, out, err = ask(*arguments, "-o", "json")
        assert ended == code, (out, err)
        return json.loads(out)

    return values


# Orders


def test_an_order_is_shown_with_who_why_and_until_when_and_then_taken_back(balanced, ask, values):
    route = ("--route", balanced.route)
    balanced.show_driver()
    pin = ("orders", "1", *route)
    values("balance", "pin", *pin, "--carrier", "1", *REASON, "--for", "2h")
    values("balance", "exclude", "0", *route, *REASON)
    values("balance", "pause", *REASON)
    shown = {it["kind"]: it for it in values("balance", "show")["orders"]}
    assert set(shown) == {"pin", "exclusion", "hold"}
    assert (shown["pin"]["partition"], shown["pin"]["carrier"]) == (1, 1)
    assert shown["pin"]["until"] is not None and shown["hold"]["until"] is None
    assert shown["hold"]["route"] == balanced.route
    assert all(it["why"] == "because" and "@" in it["who"] for it in shown.values())
    for command in (("unpin", *pin), ("include", "0", *route), ("resume",)):
        assert len(values("balance", *command)["taken_back"]) == 1
    assert values("balance", "show")["orders"] == []
    assert "was not pinned" in ask("balance", "unpin", *pin)[1]


def test_a_pin_of_what_the_driver_does_not_carry_is_refused_and_leaves_nothing(balanced, ask):
    balanced.show_driver()
    pin = ("balance", "pin", "orders", "7", "--route", balanced.route, "--carrier", "1", *REASON)
    code, _, err = ask(*pin)
    assert code == ExitCode.REFUSED and "partitions 0 to 2" in err
    assert balanced.book().orders(balanced.key, now_ms()) == []


def test_without_redis_a_pin_is_taken_and_that_nobody_could_check_it_is_said(balanced, ask):
    balanced.configure(redis=f"redis://127.0.0.1:{free_port()}/0")
    pin = ("balance", "pin", "orders", "7", "--route", balanced.route, "--carrier", "1", *REASON)
    code, _, err = ask(*pin)
    assert code == ExitCode.DONE and "not known whether that partition is carried" in err
    assert balanced.book().pins(balanced.key, now_ms()) == {TopicPartition("orders", 7): 1}


def test_excluding_the_only_carrier_left_is_warned_of(balanced, ask):
    balanced.publish(balanced.placed())
    exclude = ("balance", "exclude", "--route", balanced.route, *REASON)
    assert "only one" not in ask(*exclude, "0")[2]
    assert "the only one of stream default" in ask(*exclude, "1")[2]


# What holds


def test_what_log_and_redis_say_is_shown_together(balanced, ask, values):
    balanced.publish(balanced.lease(), balanced.placed())
    balanced.show_driver(("default", 3))
    balanced.show_round(3)
    shown = values("balance", "show")
    (stream,) = shown["streams"]
    assert shown["balancer"]["acts"] and shown["balancer"]["who"] == "balancer pid 1"
    assert (stream["generation"], stream["driver_generation"]) == (3, 3)
    assert stream["carriers"] == [
        {"carrier": 0, "partitions": 2, "load": 0.5},
        {"carrier": 1, "partitions": 2, "load": 0.25},
    ]
    assert stream["heaviest_over_bound"] == pytest.approx(1.25)
    code, out, err = ask("balance", "show")
    assert code == ExitCode.DONE and balanced.route in out and err == ""


def test_with_redis_away_show_has_what_the_log_has_and_ends_with_3(balanced, ask, values):
    balanced.publish(balanced.lease(), balanced.placed())
    balanced.configure(redis=f"redis://127.0.0.1:{free_port()}/0")
    shown = values("balance", "show", code=ExitCode.UNREACHABLE)
    (stream,) = shown["streams"]
    assert stream["generation"] == 3 and stream["driver_generation"] is None
    assert [it["partitions"] for it in stream["carriers"]] == [2, 2]
    assert "Redis" in " ".join(shown["problems"])
    assert "Redis" in ask("balance", "show")[2]


def test_with_the_aggregate_away_everything_ends_with_3_and_show_has_what_redis_has(
    balanced, ask, values
):
    balanced.show_round(3)
    balanced.configure(aggregate=f"127.0.0.1:{free_port()}")
    brief = ("--timeout", "1")
    shown = values("balance", "show", *brief, code=ExitCode.UNREACHABLE)
    assert shown["balancer"] is None and shown["streams"][0]["generation"] == 3
    route = ("--route", balanced.route)
    for command in (
        ("balance", "pause", *REASON),
        ("balance", "exclude", "0", *route, *REASON),
        ("stream", "create", "money", *route, *REASON, "--topics", "pay.*"),
        ("stream", "list"),
    ):
        code, out, err = ask(*command, *brief)
        assert (code, out) == (ExitCode.UNREACHABLE, ""), err
        assert f"{balanced.region} aggregate" in err


def test_that_no_balancer_acts_is_said_on_stderr(balanced, ask):
    code, _, err = ask("balance", "show")
    assert code == ExitCode.DONE and "no balancer acts" in err


# Plans by hand


def test_a_plan_without_a_driver_to_be_seen_is_refused(balanced, ask):
    code, _, err = ask("balance", "plan")
    assert code == ExitCode.REFUSED and "nobody shows what is carried" in err


def test_a_plan_says_why_nothing_is_known_of_loads(balanced, ask, values):
    balanced.show_driver()
    (stream,) = values("balance", "plan")["streams"]
    assert (stream["generation"], stream["moves"], stream["apply"]) == (0, [], None)
    assert "not been looked at" in stream["degraded"]
    assert "there is nothing to do" in ask("balance", "plan")[1]
    assert ask("balance", "plan", "--stream", "gold")[0] == ExitCode.USAGE


@pytest.fixture
def answering(balanced: Balanced) -> Iterator[Callable[..., None]]:
    """`answering(make)`: a thread that waits for an order by hand, and publishes what is made."""
    threads: list[threading.Thread] = []

    def answering(make: Callable[[ByHand], tuple[Any, ...]]) -> None:
        def answer() -> None:
            found: list[ByHand] = []

            def is_ordered() -> bool:
                order = balanced.book().by_hand(balanced.key, "default", now_ms())
                found.extend([order] if order else [])
                return bool(found)

            assert until(is_ordered, PATIENCE_SECONDS)
            balanced.publish(*make(found[0]), taken_back=(key_of(found[0]),))

        threads.append(threading.Thread(target=answer))
        threads[-1].start()

    yield answering
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
        assert not thread.is_alive()


def test_an_order_by_hand_is_answered_with_what_moved(balanced, answering, values):
    balanced.publish(balanced.lease(), balanced.placed())

    def make(order: ByHand) -> tuple[Any, ...]:
        done = Answer(**balanced.said(stream="default"), id=order.id, generation=4, moves=1)
        return balanced.placed(4, moved=True), done

    answering(make)
    route = ("--route", balanced.route)
    found = values("balance", "apply", *route, "--generation", "3", "--timeout", "60")
    assert (found["result"], found["generation"], found["moves_count"]) == ("done", 4, 1)
    assert found["moves"] == [{"topic": "orders", "partition": 0, "source": 0, "target": 1}]
    assert balanced.book().by_hand(balanced.key, "default", now_ms()) is None


def test_an_order_that_the_balancer_finds_stale_ends_as_stale_plans_do(balanced, answering, ask):
    balanced.publish(balanced.lease(), balanced.placed())

    def make(order: ByHand) -> tuple[Any, ...]:
        stale = {"generation": 4, "moves": 0, "refused": "by now there is 4"}
        return (Answer(**balanced.said(stream="default"), id=order.id, **stale),)

    answering(make)
    apply = ("balance", "apply", "--route", balanced.route, "--generation", "3")
    code, out, _ = ask(*apply, "--timeout", "60")
    assert code == ExitCode.PLAN_STALE and "by now there is 4" in out
    assert "Plan again" in out


def test_what_is_stale_before_it_is_ordered_is_not_ordered(balanced, ask):
    balanced.publish(balanced.lease(), balanced.placed(4))
    code, out, _ = ask("balance", "apply", "--route", balanced.route, "--generation", "3")
    assert code == ExitCode.PLAN_STALE and "generation 4 holds by now" in out
    assert balanced.book().by_hand(balanced.key, "default", now_ms()) is None


def test_without_a_balancer_the_order_stays_and_the_result_is_unknown(balanced, ask):
    apply = ("balance", "apply", "--route", balanced.route, "--generation", "0", "--full")
    code, out, err = ask(*apply, "--timeout", "1")
    assert code == ExitCode.RESULT_UNKNOWN and "no balancer acts. The order stays" in out
    assert "no balancer acts" in err
    order = balanced.book().by_hand(balanced.key, "default", now_ms())
    assert order is not None and order.scope.value == "full"


# Streams


def test_a_stream_is_made_changed_paused_and_deleted_with_all_that_is_said_of_it(
    balanced, ask, values
):
    balanced.show_driver()
    route = ("--route", balanced.route)
    create = ("stream", "create", "money", *route, *REASON, "--topics", "pay.*")
    values(*create, "--threshold", "0.5", "--carriers-max", "2")
    assert ask(*create)[0] == ExitCode.REFUSED
    money, default = values("stream", "list")["streams"]
    assert (money["matching"], default["matching"]) == ({"payments": 1}, {"orders": 3})
    assert money["limits"] == {"threshold": 0.5, "carriers_max": 2}
    assert money["first_carrier"] == 1000

    change = ("stream", "change", "money", *route)
    values(*change, "--topics", "orders", "--unset", "threshold", "--carriers-min", "2")
    money, default = values("stream", "list")["streams"]
    assert (money["matching"], default["matching"]) == ({"orders": 3}, {"payments": 1})
    assert money["limits"] == {"carriers_min": 2, "carriers_max": 2}
    assert money["why"] == "because"
    assert ask(*change, "--carriers-min", "3")[0] == ExitCode.USAGE

    values("stream", "pause", "money", *route, *REASON)
    assert values("stream", "list")["streams"][0]["is_paused"] is True
    assert balanced.book().split(balanced.key, ORDERS, now_ms())["money"] == []
    assert "is paused already" in ask("stream", "pause", "money", *route, *REASON)[1]
    values("stream", "resume", "money", *route)
    assert len(balanced.book().split(balanced.key, ORDERS, now_ms())["money"]) == 3

    values("balance", "pause", "--stream", "money", *REASON)
    mine = Placed(**balanced.said(stream="money", generation=1), carriers=(1000,), topics={})
    balanced.publish(mine)
    values("stream", "delete", "money", *route)
    assert not [it for it in balanced.book().records.values() if it.route == balanced.key]
    code, _, err = ask("stream", "delete", "money", *route)
    assert code == ExitCode.USAGE and "known: default" in err


def test_a_stream_that_makes_a_pin_void_says_so(balanced, ask, values):
    route = ("--route", balanced.route)
    balanced.show_driver()
    values("balance", "pin", "payments", "0", *route, "--carrier", "1", *REASON)
    code, _, err = ask("stream", "create", "money", *route, *REASON, "--topics", "pay.*")
    assert code == ExitCode.DONE and "payments-0 is pinned to carrier 1" in err


def test_streams_are_listed_while_redis_is_away(balanced, ask, values):
    route = ("--route", balanced.route)
    balanced.configure(redis=f"redis://127.0.0.1:{free_port()}/0")
    values("stream", "create", "money", *route, *REASON, "--topics", "pay.*")
    (money, _) = values("stream", "list")["streams"]
    assert (money["topics"], money["matching"]) == (["pay.*"], None)
    assert "Redis" in ask("stream", "list")[2]


def test_a_topic_and_one_partition_rest_until_they_are_told_to_go_on(balanced, ask, values):
    balanced.show_driver()
    route = ("--route", balanced.route)
    pause, resume = (
        ("stream", "pause-topic", "orders", *route),
        ("stream", "resume-topic", "orders"),
    )
    values(*pause, "--partition", "1", *REASON)

    def carried() -> list[int]:
        split = balanced.book().split(balanced.key, ORDERS, now_ms())
        return [each.partition for each in split["default"]]

    assert carried() == [0, 2]
    values(*pause, *REASON, "--for", "1h")
    assert carried() == []
    assert ask(*resume, *route, "--partition", "1")[0] == ExitCode.REFUSED
    assert len(values(*resume, *route)["taken_back"]) == 2
    assert carried() == [0, 1, 2]
    assert "carries no topic gold" in ask("stream", "pause-topic", "gold", *route, *REASON)[2]
