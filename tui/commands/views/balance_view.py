"""Output of `sluice balance show`: current placements, alerts and orders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from replicator.orders.round_status import RoundStatus
from tui.commands.text import NONE, decimals, instant, joined, table
from tui.commands.views.order_view import SCHEMA_VERSION, order_values, orders_text
from tui.facts.balance_status import BalanceStatus, CarrierStatus, StreamStatus, is_acting

CARRIERS_SHOWN_MAX = 40
STREAM_HEADS = (
    "STREAM",
    "GENERATION",
    "DRIVER",
    "PARTITIONS",
    "CARRIERS",
    "NEEDED",
    "HEAVIEST",
    "BOUND",
    "RATIO",
    "CERTIFICATE",
    "ROUND",
)


def as_values(balance: BalanceStatus) -> dict[str, Any]:
    """Returns plain values for JSON and YAML; unknown values are null."""
    return {
        "schema_version": SCHEMA_VERSION,
        "region": balance.region,
        "balancer": _balancer_values(balance),
        "driver": _driver_values(balance),
        "streams": [_stream_values(each, balance.now_ms) for each in balance.streams()],
        "orders": None
        if balance.order_log is None
        else [order_values(each) for each in balance.orders()],
        "problems": list(balance.problems),
    }


def as_text(balance: BalanceStatus, *, all_carriers: bool = False) -> str:
    """Formats the status for people.

    Of more than CARRIERS_SHOWN_MAX carriers only the heaviest are listed, unless `all_carriers`.
    """
    streams = list(balance.streams())
    parts = [
        _head(balance),
        table(STREAM_HEADS, [_row(each, balance.now_ms) for each in streams]),
        _carriers(streams, None if all_carriers else CARRIERS_SHOWN_MAX),
        joined(_remarks(streams)),
        _alerts(streams),
    ]
    if balance.order_log is None:
        parts.append("orders: not known")
    else:
        parts.append(orders_text(balance.orders()) if balance.orders() else "no orders in force")
    return "\n\n".join(part for part in parts if part)


def remarks(balance: BalanceStatus) -> Iterator[str]:
    """Yields lines for stderr: problems, a missing balancer, a missing driver."""
    yield from balance.problems
    if balance.order_log is not None and not is_acting(balance.lease, balance.now_ms):
        yield f"no balancer acts: start `sluice balance --region {balance.region}`"
    if balance.rounds is not None and balance.active_plan is None:
        yield f"no driver shows what it carries into {balance.region}"


def stream_label(route: str, stream: str) -> str:
    """Returns west>east for a default stream, west>east/orders for a named one."""
    return route if stream == "default" else f"{route}/{stream}"


def _balancer_values(balance: BalanceStatus) -> dict[str, Any] | None:
    if balance.order_log is None:
        return None
    lease = balance.lease
    return {
        "acts": is_acting(lease, balance.now_ms),
        "who": lease.who if lease else None,
        "since": instant(lease.since_ms) if lease else None,
        "age_seconds": (balance.now_ms - lease.at_ms) / 1000 if lease else None,
    }


def _driver_values(balance: BalanceStatus) -> dict[str, Any] | None:
    plan = balance.active_plan
    return {"partitions": plan.plan.partitions, "slots": plan.slots} if plan else None


def _stream_values(stream: StreamStatus, now_ms: int) -> dict[str, Any]:
    status = stream.status
    bound = status.bound if status else None
    return {
        "route": stream.route.name,
        "stream": stream.stream,
        "is_paused": stream.is_paused,
        "generation": stream.generation,
        "driver_generation": stream.driver_generation,
        "partitions": stream.partitions,
        "carriers": None
        if stream.carriers is None
        else [
            {"carrier": each.number, "partitions": each.partitions, "load": each.load}
            for each in stream.carriers
        ],
        "heaviest": stream.heaviest,
        "bound": bound,
        "heaviest_over_bound": _ratio(stream.heaviest, bound),
        "certificate": status.certificate if status else None,
        "carriers_needed": status.needed if status else None,
        "carriers_at_least": status.at_least if status else None,
        "measured_part": status.measured_part if status else None,
        "placed_at": instant(status.placed_at_ms) if status else None,
        "triggers": list(status.triggers) if status else None,
        "moves_count": status.moves_count if status else None,
        "moves": [each.model_dump() for each in status.moves] if status else None,
        "alerts": [each.model_dump() for each in status.alerts] if status else None,
        "held": status.held if status else None,
        "degraded": status.degraded if status else None,
        "cost_seconds": _cost_values(status),
        "round_age_seconds": (now_ms - status.at_ms) / 1000 if status else None,
    }


def _cost_values(status: RoundStatus | None) -> dict[str, Any] | None:
    if status is None or status.unopened is None or status.opened is None:
        return None
    return {"unopened": status.unopened.model_dump(), "opened": status.opened.model_dump()}


def _head(balance: BalanceStatus) -> str:
    lease = balance.lease
    if balance.order_log is None:
        balancer = "not known"
    elif lease is None:
        balancer = "none has ever acted; partitions are placed by count"
    else:
        age = f"last heard of {(balance.now_ms - lease.at_ms) / 1000:.0f} s ago"
        state = "acts" if is_acting(lease, balance.now_ms) else "DOES NOT ACT"
        balancer = f"{lease.who} {state}; leader since {instant(lease.since_ms)}, {age}"
    if balance.active_plan is None:
        driver = "shows nothing" if balance.rounds is not None else "not known"
    else:
        plan = balance.active_plan
        driver = f"carries {plan.plan.partitions} partitions, {plan.slots} task slots"
    return joined([f"balancer  {balancer}", f"driver    {driver}"])


def _row(stream: StreamStatus, now_ms: int) -> tuple[Any, ...]:
    status = stream.status
    bound = status.bound if status else None
    return (
        stream_label(stream.route.name, stream.stream) + (" (paused)" if stream.is_paused else ""),
        _by_count(stream.generation),
        _by_count(stream.driver_generation),
        stream.partitions,
        None if stream.carriers is None else len(stream.carriers),
        status.needed if status else None,
        decimals(stream.heaviest),
        decimals(bound),
        decimals(_ratio(stream.heaviest, bound), 2),
        _certificate(stream),
        None if status is None else f"{(now_ms - status.at_ms) / 1000:.0f} s ago",
    )


def _by_count(generation: int | None) -> int | str | None:
    return "by count" if generation == 0 else generation


def _certificate(stream: StreamStatus) -> int | str | None:
    status = stream.status
    if status is None or status.placed_at_ms is None:
        return None
    return NONE if status.certificate is None else status.certificate


def _ratio(heaviest: float | None, bound: float | None) -> float | None:
    return heaviest / bound if heaviest is not None and bound else None


def _carriers(streams: Sequence[StreamStatus], shown_max: int | None) -> str:
    """Formats the carriers as a table; of more than `shown_max` only the heaviest."""
    found: list[tuple[StreamStatus, CarrierStatus]] = [
        (stream, carrier) for stream in streams for carrier in stream.carriers or ()
    ]
    if not found:
        return ""
    left_out = ""
    if shown_max is not None and len(found) > shown_max:
        left_out = f"\n{shown_max} of {len(found)} carriers, the heaviest; --carriers shows all"
        found.sort(key=lambda each: (-(each[1].load or 0.0), -each[1].partitions))
        found = found[:shown_max]
    rows = [
        (
            stream_label(stream.route.name, stream.stream),
            it.number,
            it.partitions,
            decimals(it.load),
        )
        for stream, it in found
    ]
    return table(("STREAM", "CARRIER", "PARTITIONS", "LOAD"), rows) + left_out


def _remarks(streams: Sequence[StreamStatus]) -> Iterator[str]:
    for stream in streams:
        name, status = stream_label(stream.route.name, stream.stream), stream.status
        if status is None:
            continue
        if status.held:
            yield f"{name}: nothing moves that need not: {status.held}"
        if status.degraded and status.degraded not in (status.held or ""):
            yield f"{name}: loads are not known: {status.degraded}"


def _alerts(streams: Sequence[StreamStatus]) -> str:
    rows = [
        (stream_label(stream.route.name, stream.stream), alert.name, alert.text)
        for stream in streams
        if stream.status
        for alert in stream.status.alerts
    ]
    return table(("STREAM", "ALERT", "TEXT"), rows) if rows else ""
