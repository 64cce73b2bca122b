"""Reading from an intent on: what a predecessor had read before is read again."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Mode(StrEnum):
    """Mode of a partition, in the words of the Block Aggregator."""

    REPLAY = "replay"
    """Blocks that a predecessor may have sent are formed and sent again."""
    CONSUME = "consume"


class ReadAgain(NamedTuple):
    """Numbers of records that were read again after a takeover.

    Args:
        replayed: of blocks that have to be repeated.
        passed_over: of what is loaded already.
    """

    replayed: int
    passed_over: int
