"""Recovery: how a coordinator that starts goes on, from the ledger, the store and Spark's state.

The ledger has the newest tick that was cut, the store the newest one that was claimed, Spark's
checkpoint the one that the state holds. The ledger and the store decide; a checkpoint is used if it
fits, and else the state is read from the store.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class TickName(NamedTuple):
    """Tick by generation and number; number 0 stands before the first one."""

    generation: int
    number: int


class TickAction(StrEnum):
    """First action with a tick."""

    CUT = "cut"
    """Cut the tick behind the newest claimed one."""
    REDO = "redo"
    """Do the tick of the ledger: what is stored of it is recognized."""
    STOP = "stop"
    """Ledger, store or checkpoint contradict each other: an operator has to decide."""


class StateAction(StrEnum):
    """Action that brings the state to the newest claimed tick."""

    KEEP = "keep"
    FOLD_AGAIN = "fold-again"
    """Fold the newest claimed tick, which the ledger has, into the state, and write nothing."""
    BOOTSTRAP = "bootstrap"
    """Read the state from the store at the newest claimed tick; at tick 0 it is empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Progress that a coordinator finds once it has opened the table's id.

    Args:
        ledger: the newest tick that was cut; None if none ever was.
        claimed: the newest claimed tick; number 0 if none was in this generation.
        checkpoint: the tick that Spark committed last; None if there is no checkpoint, or one that
            cannot be read. A bootstrap at tick 0 commits number 0.
        stored: number of the newest tick that has rows or ends in the store; 0: none.
    """

    ledger: TickName | None
    claimed: TickName
    checkpoint: TickName | None = None
    stored: int = 0


@dataclass(frozen=True, slots=True)
class Recovery:
    """Decision of a recovery.

    Args:
        tick: number of the tick to cut or to do again; of the newest claimed one for others.
        state: None if there is nothing to do.
        reason: for operators.
    """

    action: TickAction
    tick: int
    state: StateAction | None
    reason: str


def recovery(found: Found) -> Recovery:
    """Returns what to do first; the state comes before the tick.

    A checkpoint that is more than one tick behind is not brought forward, but read anew from the
    store (decision 0100).
    """
    claimed = found.claimed.number
    contradiction = _contradiction(found)
    if contradiction:
        return Recovery(TickAction.STOP, claimed, None, contradiction)
    cut = found.ledger.number if found.ledger else 0
    state, reason = _state(found, has_ranges=cut == claimed)
    if cut == claimed:
        return Recovery(TickAction.CUT, claimed + 1, state, reason)
    return Recovery(TickAction.REDO, cut, state, f"tick {cut} was cut and not claimed; {reason}")


def _contradiction(found: Found) -> str:
    """Returns how ledger, store and checkpoint contradict each other; empty if they do not."""
    generation, claimed = found.claimed
    if found.ledger is None:
        if claimed or found.stored:
            newest = max(claimed, found.stored)
            return (
                f"the store has ticks up to {newest} and the ledger has none: was the table's home "
                "cluster changed, or were its committed offsets deleted?"
            )
    elif found.ledger.generation != generation:
        return (
            f"the ledger is of generation {found.ledger.generation}, the store of {generation}: "
            "were the table's servers or its home cluster restored?"
        )
    cut = found.ledger.number if found.ledger else 0
    if cut > claimed + 1:
        return (
            f"ticks up to {cut} were cut, and the store has claims up to {claimed}: ticks "
            f"{claimed + 1} to {cut - 1} are lost"
        )
    if cut < claimed:
        return f"the store has claims up to {claimed}, and the ledger ends with tick {cut}"
    if found.stored > cut:
        return (
            f"the store has rows or ends of tick {found.stored}, and the ledger ends with tick "
            f"{cut}: they are of a tick that the ledger has lost"
        )
    checkpoint = found.checkpoint
    if checkpoint and checkpoint.generation == generation and checkpoint.number > claimed:
        return (
            f"the state holds ticks up to {checkpoint.number}, and the store has claims up to "
            f"{claimed}: claims of ticks {claimed + 1} to {checkpoint.number} are lost"
        )
    return ""


def _state(found: Found, *, has_ranges: bool) -> tuple[StateAction, str]:
    claimed, checkpoint = found.claimed, found.checkpoint
    if checkpoint is None:
        return StateAction.BOOTSTRAP, "no checkpoint can be read"
    if checkpoint.generation != claimed.generation:
        return StateAction.BOOTSTRAP, f"the checkpoint is of generation {checkpoint.generation}"
    if checkpoint.number == claimed.number:
        return StateAction.KEEP, f"the checkpoint holds tick {claimed.number}"
    if checkpoint.number == claimed.number - 1 and has_ranges:
        return StateAction.FOLD_AGAIN, f"the checkpoint lacks tick {claimed.number}"
    return StateAction.BOOTSTRAP, f"the checkpoint ends with tick {checkpoint.number}"
