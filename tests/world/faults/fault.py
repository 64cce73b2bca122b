"""Fault: something that goes wrong, or that an operator does, while records are on their way."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

Scene_contra = TypeVar("Scene_contra", contravariant=True)


@dataclass(frozen=True, slots=True)
class Fault(Generic[Scene_contra]):
    """A kind of fault.

    Args:
        name: for people, and for courses that name their faults.
        act: does it, by the scene's dice. Whatever has to be mended later, it mends itself, or
            `mended` does at the end of all faults.
        weight: how often it is dealt, compared with the others.
        share: of the seeds that deal it at all.
    """

    name: str
    act: Callable[[Scene_contra], Awaitable[None]]
    weight: int = 1
    share: float = 0.7
