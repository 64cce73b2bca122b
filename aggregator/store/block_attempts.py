"""Block attempts: the state of one block from its first attempt until it is stored. Pure.

A block that an earlier insert may have stored is *doubtful*: the table is looked at before the
block is sent. So is a block that a predecessor's intent names.

With a quorum, an acknowledgement of a doubtful block does not count alone. A server may acknowledge
a repeat while the first insert still waits for its quorum. So the rows are looked at afterwards.
Two acknowledgements count too: the second insert is refused (286) while a quorum is open.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from aggregator.store.insert_errors import InsertProblem
from aggregator.store.recognition import Decision, Mask, Verdict

ACKNOWLEDGEMENTS = 2


class Step(StrEnum):
    """Next step with a block."""

    LOOK = "look"
    SEND = "send"
    DONE = "done"


@dataclass(slots=True, kw_only=True)
class BlockAttempts:
    """State of one block.

    Args:
        quorum: replicas that must have the block.
        is_doubtful: an earlier insert may have stored the block, or a part of it.
    """

    quorum: int
    is_doubtful: bool
    lacking: Mask | None = None
    """Rows to send; None: all."""
    was_split: bool = False
    """Some of the rows were sent as a block of their own."""
    _acknowledgements: int = 0
    _is_known: bool = False
    """The table was looked at since the last insert that may have stored something."""
    _needs_memory: bool = False
    """The next insert relies on the table's memory of blocks, which becomes shorter by the time."""
    _is_done: bool = False

    @property
    def step(self) -> Step:
        if self._is_done:
            return Step.DONE
        return Step.LOOK if self.is_doubtful and not self._is_known else Step.SEND

    @property
    def is_acknowledged(self) -> bool:
        """True if the server acknowledged the last insert."""
        return self._acknowledgements > 0

    def looked(self, decision: Decision) -> None:
        """Takes in a look at the table."""
        if decision.verdict is Verdict.LOOK_AGAIN:
            return
        if decision.verdict is Verdict.DONE:
            self._is_done = True
            return
        lacking = decision.lacking if decision.verdict is Verdict.INSERT_REST else None
        if not _equal(lacking, self.lacking):
            self._acknowledgements = 0
        self.lacking, self._is_known = lacking, True
        self._needs_memory = bool(decision.why)
        self.was_split |= lacking is not None

    def doubt(self) -> None:
        """Takes in that somebody else may have sent the block meanwhile."""
        self.is_doubtful, self._is_known = True, False

    def acknowledged(self) -> None:
        """Takes in the acknowledgement of an insert."""
        self._acknowledgements += 1
        self._is_known = False
        is_enough = self._acknowledgements >= ACKNOWLEDGEMENTS
        self._is_done = not self.is_doubtful or self.quorum < 2 or is_enough

    def failed(self, problem: InsertProblem) -> None:
        """Takes in the failure of an insert."""
        self._acknowledgements = 0
        self.is_doubtful |= problem.may_be_stored
        self._is_known &= not (problem.may_be_stored or self._needs_memory)


def _equal(one: Mask | None, other: Mask | None) -> bool:
    if one is None or other is None:
        return one is other
    return bool(np.array_equal(one, other))
