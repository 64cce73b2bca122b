"""`sluice stream` on real servers; tests play the balancer and the driver."""

from __future__ import annotations

import pytest

from deploy.lab.process import free_port
from replicator.orders.order_records import Placed
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


@pytest.mark.core
def test_a_stream_is_made_changed_paused_and_deleted_with_all_that_is_said_of_it(
    balanced, ask, values
):
    balanced.show_driver()
    route = ("--route", balanced.route)
    create = ("stream", "create", "money", *route, *REASON, "--topics", "pay.*")
    values(*create, "--threshold", "0.5", "--carriers-max", "2")
    assert ask(*create)[0] == ExitCode.REFUSED
    default, money = values("stream", "list")["streams"]
    assert (money["matching"], default["matching"]) == ({"payments": 1}, {"orders": 3})
    assert money["limits"] == {"threshold": 0.5, "carriers_max": 2}
    assert money["first_carrier"] == 1000

    change = ("stream", "change", "money", *route)
    values(*change, "--topics", "orders", "--unset", "threshold", "--carriers-min", "2")
    default, money = values("stream", "list")["streams"]
    assert (money["matching"], default["matching"]) == ({"orders": 3}, {"payments": 1})
    assert money["limits"] == {"carriers_min": 2, "carriers_max": 2}
    assert money["why"] == "because"
    assert ask(*change, "--carriers-min", "3")[0] == ExitCode.USAGE

    values("stream", "pause", "money", *route, *REASON)
    assert values("stream", "list")["streams"][1]["is_paused"] is True
    assert balanced.order_log().split(balanced.key, ORDERS, now_ms())["money"] == []
    assert "is paused already" in ask("stream", "pause", "money", *route, *REASON)[1]
    values("stream", "resume", "money", *route)
    assert len(balanced.order_log().split(balanced.key, ORDERS, now_ms())["money"]) == 3

    values("balance", "pause", "--stream", "money", *REASON)
    mine = Placed(**balanced.said(stream="money", generation=1), carriers=(1000,), topics={})
    balanced.publish(mine)
    values("stream", "delete", "money", *route)
    assert not [it for it in balanced.order_log().records.values() if it.route == balanced.key]
    code, _, err = ask("stream", "delete", "money", *route)
    assert code == ExitCode.USAGE and "known: default" in err


def test_a_stream_that_makes_a_pin_void_says_so(balanced, ask, values):
    route = ("--route", balanced.route)
    balanced.show_driver()
    values("balance", "pin", "payments", "0", *route, "--carrier", "1", *REASON)
    code, _, err = ask("stream", "create", "money", *route, *REASON, "--topics", "pay.*")
    assert code == ExitCode.DONE and "payments-0 is pinned to carrier 1" in err


@pytest.mark.core
def test_streams_are_listed_while_redis_is_away(balanced, ask, values):
    route = ("--route", balanced.route)
    balanced.configure(redis=f"redis://127.0.0.1:{free_port()}/0")
    values("stream", "create", "money", *route, *REASON, "--topics", "pay.*")
    (_, money) = values("stream", "list")["streams"]
    assert (money["topics"], money["matching"]) == (["pay.*"], None)
    assert "Redis" in ask("stream", "list")[2]


@pytest.mark.core
def test_a_topic_and_one_partition_rest_until_they_are_told_to_go_on(balanced, ask, values):
    balanced.show_driver()
    route = ("--route", balanced.route)
    pause, resume = (
        ("stream", "pause-topic", "orders", *route),
        ("stream", "resume-topic", "orders"),
    )
    values(*pause, "--partition", "1", *REASON)

    def carried() -> list[int]:
        split = balanced.order_log().split(balanced.key, ORDERS, now_ms())
        return [each.partition for each in split["default"]]

    assert carried() == [0, 2]
    values(*pause, *REASON, "--for", "1h")
    assert carried() == []
    assert ask(*resume, *route, "--partition", "1")[0] == ExitCode.REFUSED
    assert len(values(*resume, *route)["taken_back"]) == 2
    assert carried() == [0, 1, 2]
    assert "carries no topic gold" in ask("stream", "pause-topic", "gold", *route, *REASON)[2]
