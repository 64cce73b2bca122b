"""Columns that tables of partitions, topics and routes share, and the cells of states."""

from __future__ import annotations

from collections.abc import Mapping

from tui.facts.health import ORDER, Health
from tui.pages.page import Cell, Column

TONES: Mapping[Health, str] = {
    Health.UNKNOWN: "bad",
    Health.PARKED: "bad",
    Health.WAITS: "bad",
    Health.STALLED: "bad",
    Health.BEHIND: "warn",
    Health.PAUSED: "warn",
    Health.OK: "good",
}
ROUTE = Column("ROUTE", 10, "source region > target region")
TOPIC = Column("TOPIC", 16, "name in the source", grows=True)
STATE = Column(
    "STATE",
    7,
    "worst first: UNKNOWN no fresh word, PARKED waits for an operator, WAITS a condition holds, "
    "STALLED lag and no progress, BEHIND above the lag allowed, PAUSED by an order, OK",
)


def state_cell(state: Health) -> Cell:
    """Returns the cell of a state; the worst sorts first."""
    return Cell(state.value, TONES[state], ORDER[state])


def is_fault(state: Health) -> bool:
    """Returns True for a state that an operator should look at."""
    return state is not Health.OK
