"""Orders about an upsert table are carried out once by a process, and end by themselves."""

from __future__ import annotations

from uuid import UUID

from aggregator.upsert.table_orders import TableOrders
from aggregator.upsert.tick import Lane, Stop
from aggregator.upsert.tick_cut import LaneLog
from replicator.kafka.client.loss import Loss, LossKind
from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import (
    AcceptLaneLosses,
    Freeze,
    RotateTable,
    SettleTable,
    key_of,
)

SAID = {"route": "flights", "at_ms": 5, "who": "ann@ops", "until_ms": 100, "table": "status"}
SETTLE = SettleTable.model_validate(SAID)
ROTATE = RotateTable.model_validate(SAID)


def log_of(*orders: SettleTable | RotateTable | AcceptLaneLosses | Freeze) -> OrderLog:
    return OrderLog({key_of(each): each for each in orders})


def test_an_order_is_due_until_it_is_done() -> None:
    orders, log = TableOrders("flights", "status"), log_of(SETTLE, ROTATE)
    assert orders.due(SettleTable, log, 10) == SETTLE
    assert orders.due(RotateTable, log, 10) == ROTATE
    orders.done(SETTLE)
    assert orders.due(SettleTable, log, 10) is None
    assert orders.due(RotateTable, log, 10) == ROTATE
    again = SETTLE.model_copy(update={"at_ms": 20})
    assert orders.due(SettleTable, log_of(again), 30) == again


def test_an_order_that_has_ended_or_is_about_another_table_is_not_due() -> None:
    orders = TableOrders("flights", "status")
    assert orders.due(SettleTable, log_of(SETTLE), 100) is None
    other = SETTLE.model_copy(update={"table": "other"})
    foreign = SETTLE.model_copy(update={"route": "lake"})
    assert orders.due(SettleTable, log_of(other, foreign), 10) is None
    assert orders.due(SettleTable, log_of(other, SETTLE), 10) == SETTLE


def test_a_process_that_begins_carries_out_what_has_not_ended() -> None:
    orders, log = TableOrders("flights", "status"), log_of(SETTLE)
    orders.done(SETTLE)
    assert TableOrders("flights", "status").due(SettleTable, log, 10) == SETTLE


def test_a_loss_is_accepted_as_it_was_shown_and_no_later_one() -> None:
    loss = Loss(LossKind.RETENTION_PASSED, 5, 9)
    order = AcceptLaneLosses.model_validate(
        SAID | {"losses": [(0, loss.kind.value, 5, 9), (2, loss.kind.value, 1, 3)]}
    )
    orders, log = TableOrders("flights", "status"), log_of(order)
    assert orders.accepted([Stop(0, loss), Stop(1, loss)], log, 10) == {0: loss}
    later = Loss(LossKind.RETENTION_PASSED, 5, 12)
    assert orders.accepted([Stop(0, later)], log, 10) == {}
    assert orders.accepted([Stop(0, loss, is_accepted=True)], log, 10) == {}
    assert orders.accepted([Stop(0, loss)], log, 100) == {}, "the order has ended"
    assert TableOrders("flights", "other").accepted([Stop(0, loss)], log, 10) == {}


def test_a_tick_takes_nothing_from_what_is_frozen() -> None:
    west, east = (Lane(f"{name} aggregate", "status", UUID(int=1), 0) for name in ("west", "east"))
    logs = {west: LaneLog(0, 5), east: None}
    orders = TableOrders("flights", "status")

    def after(**fields: object) -> list[bool]:
        order = Freeze.model_validate(
            {"route": "flights", "at_ms": 5, "who": "ann@ops", "until_ms": 100} | fields
        )
        now = orders.unfrozen(logs, log_of(order), 10)
        assert orders.unfrozen(logs, log_of(order), 100) == logs, "the order has ended"
        return [now[west] is None, now[east] is None]

    assert after() == [True, True]
    assert after(cluster="west aggregate") == [True, True]
    assert after(cluster="east aggregate") == [False, True]
    assert after(table="status") == after(topic="status") == [True, True]
    assert after(table="other") == after(topic="other") == after(route="lake") == [False, True]
    assert orders.unfrozen(logs, log_of(), 10) == logs
