"""Mutation: a rule of docs/invariants.md that the loaders of a history do not keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from aggregator.loader.loader_assembly import Makers

Course = TypeVar("Course")


@dataclass(frozen=True, slots=True)
class Mutation(Generic[Course]):
    """A rule that is taken out.

    Args:
        rule: its number in docs/invariants.md.
        name: of the mutation.
        makers: of the loaders that break it.
        course: of the histories that find it.
    """

    rule: int
    name: str
    makers: Makers
    course: Course
