"""Courses of histories in which an upsert table meets few kinds of faults, so that they meet each
other, and the mutations that these find."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from aggregator.upsert import horizon, keeper, reader, repeatable_insert, settling
from aggregator.upsert.checkpoint import Checkpoint, CheckpointUnreadable, Identity
from aggregator.upsert.keeper import TableKeeper
from aggregator.upsert.query_session import QuerySession, ServerUnfit
from aggregator.upsert.recovery import TickName
from aggregator.upsert.row_task import RowWorker
from aggregator.upsert.settling import Settled, Settler
from aggregator.upsert.table_orders import TableOrders
from aggregator.upsert.tick import Stop
from replicator.kafka.client.loss import Loss
from tests.world.upserts.mutations import UpsertMutation, changed_cut, changed_seen, put
from tests.world.upserts.scene import Course
from tests.world.virtual_loop import EPOCH

DAY_ENDS_S = 20
"""Time at which the retention of DAYS passes midnight: a day of rows is over from then on."""

LAGS = Course(
    only=("a server lags with ends",),
    fault_seconds=8.0,
    settled_seconds_max=16.0,
)
"""A server fetches no ends for a while, and is quicker than the others with mutations."""
ANSWERS = Course(
    only=("lose answers", "cut an insert"),
)
"""Answers to inserts are lost: of the keeper to a server, and of a server to the daemon."""
LOGS = Course(
    only=(
        "delete records",
        "delete records of a tick",
        "create a topic anew",
        "accept losses",
        "kill the daemon",
        "stop the daemon",
        "cut lines",
    ),
    fault_seconds=3.0,
    quiet_seconds=600.0,
    patience_seconds=6.0,
)
"""Logs lose records that no tick has taken, or whose rows are not stored yet."""
DAYS = Course(
    only=(
        "kill the daemon",
        "stop the daemon",
        "rotate the state",
        "change a checkpoint",
        "set a clock",
        "rebuild a server",
        "delay mutations",
        "stop a server",
        "lose a session",
    ),
    is_by_time=True,
    retention_hours=((EPOCH + DAY_ENDS_S) % 86_400) / 3600,
    fault_seconds=3.0,
    history_seconds=3.0,
    settle_seconds=2.0,
    keys=150,
    old_share=0.6,
    old_ms=(79_960_000, 80_030_000),
    clock_seconds=6.0,
)
"""Days of rows and old ends go, servers are rebuilt, and states of keys are read anew."""

# -- mutations


def _time_goes_back() -> None:
    changed_cut(lambda tick, clock_ms: replace(tick, time_ms=clock_ms))


def _mutation_without_guard() -> None:
    usual = settling.update_statement

    def statement(*given: Any) -> str:
        return re.sub(r"throwIf\(.*? AND tick <= \d+\) < \d+ AND ", "(", usual(*given))

    put(settling, "update_statement", statement)


def _one_acknowledgement() -> None:
    put(repeatable_insert, "ACKNOWLEDGEMENTS", 1)


def _point_without_quorum() -> None:
    usual = getattr(Settler, "_publish")  # noqa: B009

    def publish(self: Settler, result: Settled) -> None:
        store = self._store
        self._store = SimpleNamespace(quorum=1)  # type: ignore[assignment]
        try:
            usual(self, result)
        finally:
            self._store = store

    put(Settler, "_publish", publish)


def _all_losses_accepted() -> None:
    def accepted(_: TableOrders, stops: Iterable[Stop], *more: Any) -> dict[int, Loss]:
        return {it.lane: it.loss for it in stops if not it.is_accepted}

    put(TableOrders, "accepted", accepted)


def _stored_rows_forgotten() -> None:
    usual = getattr(RowWorker, "_stored")  # noqa: B009

    async def stored(self: RowWorker, task: Any, ids: range) -> Any:
        found = await usual(self, task, ids)
        return found.where(np.zeros(len(found), np.bool_))

    put(RowWorker, "_stored", stored)


def _rotation_keeps_state() -> None:
    put(TableKeeper, "_is_rotating", property(lambda _: False, lambda *_: None))


def _foreign_checkpoint_kept() -> None:
    usual = keeper.held_by

    def held_by(checkpoint: Checkpoint | None, identity: Identity) -> TickName | None:
        if checkpoint is not None:
            with suppress(CheckpointUnreadable):
                identity = checkpoint.identity()
        return usual(checkpoint, identity)

    put(keeper, "held_by", held_by)


def _ends_go_early() -> None:
    usual = horizon.droppable_end
    put(horizon, "droppable_end", lambda tick: usual(tick + 2 * horizon.TICKS_PER_PARTITION))


def _days_go_early() -> None:
    usual = horizon.drop_expired_days

    def drop(*given: Any, horizon_time_ms: int, **more: Any) -> Any:
        return usual(*given, horizon_time_ms=horizon_time_ms + 86_400_000, **more)

    put(horizon, "drop_expired_days", drop)


def _over_rows_shown() -> None:
    changed_seen(r" AND _time >= toDateTime\(\d+\)", "")


def _unsettled_server_asked() -> None:
    put(reader, "has_ends", lambda *_: True)


def _uncommitted_shown() -> None:
    usual = getattr(QuerySession, "_require_whole")  # noqa: B009

    def whole(self: QuerySession, table: str) -> str:
        try:
            found: str = usual(self, table)
        except ServerUnfit as unfit:
            if "never be committed" not in str(unfit):
                raise
            return self.server
        return found

    put(QuerySession, "_require_whole", whole)


MUTATIONS = (
    *(
        UpsertMutation(*each, "upsert_lags")
        for each in (("a server settles without its ends", 71, _mutation_without_guard),)
    ),
    *(
        UpsertMutation(*each, "upsert_answers")
        for each in (
            ("one acknowledgement does for repeats", 69, _one_acknowledgement),
            ("rows that were not committed are shown", 70, _uncommitted_shown),
        )
    ),
    *(
        UpsertMutation(*each, "upsert_logs")
        for each in (
            ("losses are accepted by nobody", 66, _all_losses_accepted),
            ("rows of an earlier attempt are forgotten", 69, _stored_rows_forgotten),
        )
    ),
    *(
        UpsertMutation(*each, "upsert_days")
        for each in (
            ("the time of ticks goes back", 65, _time_goes_back),
            ("a rotation keeps the state", 68, _rotation_keeps_state),
            ("another table's checkpoint is continued", 68, _foreign_checkpoint_kept),
            ("a settle point needs no quorum", 71, _point_without_quorum),
            ("ends behind the horizon go", 72, _ends_go_early),
            ("a server that is settled before the horizon is asked", 72, _unsettled_server_asked),
            ("days go before the horizon", 76, _days_go_early),
            ("rows of days that are over are shown", 76, _over_rows_shown),
        )
    ),
)
