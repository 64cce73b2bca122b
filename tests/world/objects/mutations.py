"""Mutations: each takes a rule of objects out, and a history has to find that."""

from __future__ import annotations

from dataclasses import dataclass

from aggregator.loader.assembly import Makers
from tests.world.objects.scene import Course

USUAL = Course()


@dataclass(frozen=True, slots=True)
class Mutation:
    """A rule that is taken out.

    Args:
        rule: its number in docs/ARCHITECTURE.md.
        name: of the mutation.
        makers: of the loaders that break it.
        course: of the histories that find it.
    """

    rule: int
    name: str
    makers: Makers
    course: Course = USUAL


MUTATIONS: tuple[Mutation, ...] = ()
