"""`sluice balance` on real servers; tests play the balancer and the driver."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from balancer.topic_partition import TopicPartition
from deploy.lab.process import free_port
from deploy.lab.wait import until
from replicator.orders.order_records import Answer, ByHand, key_of
from tests.live.played_balance import (  # noqa: F401
    ORDERS,
    PATIENCE_SECONDS,
    PAYMENTS,
    REASON,
    Ask,
    Balanced,
    ask,
    balanced,
    now_ms,
    values,
)
from tui.commands.exit_codes import ExitCode

# ruff: noqa: F811

# Orders


@pytest.mark.core
def test_an_order_is_shown_with_who_why_and_until_when_and_then_taken_back(balanced, ask, values):
    route = ("--route", balanced.route)
    balanced.show_driver()
    pin = ("orders", "1", *route)
    values("balance", "pin", *pin, "--carrier", "1", *REASON, "--for", "2h")
    values("balance", "exclude", "0", *route, *REASON)
    values("balance", "pause", *REASON)
    shown = {it["kind"]: it for it in values("balance", "show")["orders"]}
    assert set(shown) == {"pin", "exclude", "hold"}
    assert (shown["pin"]["partition"], shown["pin"]["carrier"]) == (1, 1)
    assert shown["pin"]["until_ms"] is not None and shown["hold"]["until_ms"] is None
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
    assert balanced.order_log().orders(balanced.key, now_ms()) == []


def test_without_redis_a_pin_is_taken_and_that_nobody_could_check_it_is_said(balanced, ask):
    balanced.configure(redis=f"redis://127.0.0.1:{free_port()}/0")
    pin = ("balance", "pin", "orders", "7", "--route", balanced.route, "--carrier", "1", *REASON)
    code, _, err = ask(*pin)
    assert code == ExitCode.DONE and "nobody checked whether that partition is carried" in err
    assert balanced.order_log().pins(balanced.key, now_ms()) == {TopicPartition("orders", 7): 1}


@pytest.mark.core
def test_excluding_the_only_carrier_left_is_warned_of(balanced, ask):
    balanced.publish(balanced.placed())
    exclude = ("balance", "exclude", "--route", balanced.route, *REASON)
    assert "only one" not in ask(*exclude, "0")[2]
    assert "the only one of stream default" in ask(*exclude, "1")[2]


# Status


@pytest.mark.core
def test_what_log_and_redis_say_is_shown_together(balanced, ask, values):
    balanced.publish(balanced.lease(), balanced.placed())
    balanced.show_driver(("default", 3))
    balanced.show_round(3)
    shown = values("balance", "show")
    (stream,) = shown["streams"]
    assert shown["is_acting"] and shown["lease_who"] == "balancer pid 1"
    assert (stream["generation"], stream["driver_generation"]) == (3, 3)
    carriers = [(it["number"], it["partitions"], it["load"]) for it in stream["carriers"]]
    assert carriers == [(0, 2, 0.5), (1, 2, 0.25)]
    assert (stream["heaviest"], stream["bound"]) == (0.5, 0.4)
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
    assert shown["is_acting"] is None and shown["streams"][0]["generation"] == 3
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


# Manual plans


def test_a_plan_without_a_driver_to_be_seen_is_refused(balanced, ask):
    code, _, err = ask("balance", "plan")
    assert code == ExitCode.REFUSED and "no driver shows what it carries" in err


@pytest.mark.core
def test_a_plan_says_why_nothing_is_known_of_loads(balanced, ask, values):
    balanced.show_driver()
    (stream,) = values("balance", "plan")["streams"]
    assert (stream["generation"], stream["moves"], stream["apply"]) == (0, [], None)
    assert "not been measured" in stream["degraded"]
    assert "there is nothing to do" in ask("balance", "plan")[1]
    assert ask("balance", "plan", "--stream", "gold")[0] == ExitCode.USAGE


@pytest.mark.core
def test_partitions_of_which_nothing_is_known_are_shown_as_such(balanced, ask, values):
    balanced.show_driver()
    (stream,) = values("balance", "partitions", "--topic", "orders")["streams"]
    assert [(it["topic"], it["partition"]) for it in stream["partitions"]] == [*map(tuple, ORDERS)]
    assert {it["basis"] for it in stream["partitions"]} == {"default"}
    assert None not in {it["carrier"] for it in stream["partitions"]}
    assert ask("balance", "partitions", "--topic", "order")[0] == ExitCode.REFUSED
    code, out, err = ask("balance", "partitions")
    assert code == ExitCode.DONE and "nothing: a default" in out and "payments" in out
    assert "loads are not known" in err


@pytest.fixture
def answering(balanced: Balanced) -> Iterator[Callable[..., None]]:
    """`answering(make)`: starts a thread that waits for a manual order and publishes the records
    that `make` returns."""
    threads: list[threading.Thread] = []

    def answering(make: Callable[[ByHand], tuple[Any, ...]]) -> None:
        def answer() -> None:
            found: list[ByHand] = []

            def is_ordered() -> bool:
                order = balanced.order_log().by_hand(balanced.key, "default", now_ms())
                found.extend([order] if order else [])
                return bool(found)

            assert until(is_ordered, PATIENCE_SECONDS)
            balanced.publish(*make(found[0]), tombstones=(key_of(found[0]),))

        threads.append(threading.Thread(target=answer))
        threads[-1].start()

    yield answering
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
        assert not thread.is_alive()


@pytest.mark.core
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
    assert balanced.order_log().by_hand(balanced.key, "default", now_ms()) is None


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
    assert balanced.order_log().by_hand(balanced.key, "default", now_ms()) is None


def test_without_a_balancer_the_order_stays_and_the_result_is_unknown(balanced, ask):
    apply = ("balance", "apply", "--route", balanced.route, "--generation", "0", "--full")
    code, out, err = ask(*apply, "--timeout", "1")
    assert code == ExitCode.RESULT_UNKNOWN and "no balancer acts. The order stays" in out
    assert "no balancer acts" in err
    order = balanced.order_log().by_hand(balanced.key, "default", now_ms())
    assert order is not None and order.scope.value == "full"
