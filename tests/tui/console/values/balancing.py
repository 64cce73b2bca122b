"""Balancing of a region."""

from __future__ import annotations

from tests.tui.console.values.times import MINUTE_MS, NOW_MS
from tui.facts.balancing import (
    BalanceAlert,
    BalanceView,
    CarrierLoad,
    MoveView,
    OrderView,
    StreamView,
)


def balance(name: str = "west") -> BalanceView:
    """Returns the balancing of a region: a stream with a hot partition, and an order."""
    return BalanceView(
        region=name,
        streams=(
            StreamView(
                route=f"east>{name}",
                stream="default",
                is_paused=False,
                generation=12,
                driver_generation=12,
                partitions=76,
                heaviest=0.62,
                bound=0.6,
                certificate=1,
                at_ms=NOW_MS - 20_000,
                placed_at_ms=NOW_MS - 30 * MINUTE_MS,
                triggers=("imbalance",),
                carriers=tuple(
                    CarrierLoad(
                        number=n, partitions=19, load=0.4 + n * 0.1, host=f"repl-{'abcd'[n]}"
                    )
                    for n in range(4)
                ),
                alerts=(
                    BalanceAlert(
                        name="hot partition",
                        text="orders-17 takes 0.84 of a carrier, above 0.75, and is 61% of its "
                        "topic's traffic; of the 18 others half have 0.02 at most, much less: its "
                        "keys are skewed; to add partitions to topic orders helps only if no "
                        "single key is that heavy",
                    ),
                ),
                moves=(
                    MoveView(topic="orders", partition=3, source=1, target=2, reason="imbalance"),
                ),
                moves_count=1,
            ),
        ),
        orders=(
            OrderView(
                kind="pause",
                route=f"east>{name}",
                stream=None,
                what="pause topic clicks",
                who="alice@ops",
                why="load test",
                at_ms=NOW_MS - 22 * MINUTE_MS,
                undo=("stream", "resume-topic", "clicks", "--route", f"east>{name}"),
            ),
            OrderView(
                kind="pin",
                route=f"east>{name}",
                stream=None,
                what="pin orders-17 to carrier 3",
                who="bob@ops",
                why="a carrier of its own",
                at_ms=NOW_MS - 3 * MINUTE_MS,
                until_ms=NOW_MS + 117 * MINUTE_MS,
                undo=("balance", "unpin", "orders", "17", "--route", f"east>{name}"),
            ),
        ),
        lease_who="balance repl-a 417",
        lease_at_ms=NOW_MS - 2_000,
        is_acting=True,
        driver_partitions=76,
    )
