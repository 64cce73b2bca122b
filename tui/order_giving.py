"""Writes orders, and prints what was changed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tui.exit_codes import ExitCode
from tui.output import emit

if TYPE_CHECKING:
    from replicator.placements.records import AnyRecord, Order
    from tui.balance_desk import Desk


def give(
    desk: Desk,
    orders: Iterable[AnyRecord],
    taken_back: Iterable[AnyRecord],
    output: str,
    nothing: str = "nothing was changed",
) -> int:
    """Writes what is new and takes back what is not wanted any more; prints both."""
    from replicator.placements.records import Order, key_of
    from tui.order_view import changes_text, changes_values

    new, old = list(orders), list(taken_back)
    if new or old:
        desk.write(new, [key_of(each) for each in old])
    written: list[Order] = [each for each in new if isinstance(each, Order)]
    gone: list[Order] = [each for each in old if isinstance(each, Order)]
    emit(
        output,
        changes_values(desk.region, written, gone),
        lambda: changes_text(written, gone, nothing),
    )
    return ExitCode.DONE
