"""Cap on the voluntary moves of a placement; the moves that relieve most come first."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from balancer.decision.placement import Move, Placement, Reason, RouteView, loads, voluntary
from balancer.decision.settings import Limits
from balancer.topic_partition import TopicPartition

_FOR_HOT = frozenset({Reason.HOT, Reason.MAKES_ROOM})
_ROUNDING = 1e-9


def capped(placement: Placement, route: RouteView, limits: Limits, most: int) -> Placement:
    """Returns the placement with all mandatory moves and at most `most` voluntary ones.

    A carrier may exceed a maximum load only as far as it does without any voluntary move. The
    maximum is the load of the heaviest carrier in the whole placement. Carriers with a hot
    partition are left out of it: the maximum of each is its own load in the whole placement. In the
    same way, a carrier may exceed `limits.partitions_max` only as far as it does without these
    moves.

    Moves that need each other for that, such as the two sides of an exchange, are made together. A
    group that does not fit within `most` is not made at all.

    Args:
        placement: the whole placement.
        route: route that the placement was made from.
        limits: limits of the route.
        most: maximum number of voluntary moves.
    """
    chosen = voluntary(placement.moves)
    if len(chosen) <= most:
        return placement
    choice = _Choice(placement, route, chosen, limits.partitions_max)
    made = choice.made(most) if most > 0 else set()
    left = {
        move.partition: move.source
        for move in chosen
        if move.source is not None and move.partition not in made
    }
    where = {each: left.get(each, carrier) for each, carrier in placement.where.items()}
    return replace(
        placement,
        where=where,
        moves=tuple(move for move in placement.moves if move.partition not in left),
        loads=loads(where, route.shares, route.carriers),
    )


class _Step(NamedTuple):
    share: float
    partition: TopicPartition
    source: int
    target: int


class _Choice:
    """Choice among moves; it tracks the loads and partition counts that the chosen moves cause."""

    def __init__(
        self, placement: Placement, route: RouteView, moves: Sequence[Move], partitions_max: int
    ):
        with_hot = {placement.where[each] for each in placement.hot if each in placement.where}
        heaviest = max(
            (load for at, load in placement.loads.items() if at not in with_hot), default=0.0
        )
        self._load_max = {
            at: load if at in with_hot else heaviest for at, load in placement.loads.items()
        }
        counts = Counter(placement.where.values())
        self._count_max = partitions_max
        self._loads = dict(placement.loads)
        self._counts = {at: counts[at] for at in self._loads}
        self._made: set[TopicPartition] = set()
        self._leaving: dict[int, list[_Step]] = {}
        for move in moves:
            if move.source is not None:
                share = route.shares[move.partition]
                step = _Step(share, move.partition, move.source, move.target)
                self._leaving.setdefault(move.source, []).append(step)
                self._make(step, -1)
        for steps in self._leaving.values():
            steps.sort(key=lambda step: (-step.share, step.partition))
        for_hot = [move for move in moves if move.reason in _FOR_HOT]
        self._is_for_hot = {move.source for move in for_hot}

    def made(self, most: int) -> set[TopicPartition]:
        """Returns the partitions that move.

        Carriers with a move for the sake of a hot partition come first, then the carrier that is
        the heaviest at that point.
        """
        before = -1
        while before < len(self._made) < most:
            before = len(self._made)
            self._pass(most)
        return self._made

    def _pass(self, most: int) -> None:
        """Tries each open move once; a later move may make one possible for the next pass."""
        waiting = {at: steps[::-1] for at, steps in self._leaving.items()}
        heap = [self._turn(at) for at in waiting]
        heapq.heapify(heap)
        while heap and len(self._made) < most:
            turn = heap[0]
            carrier = turn[-1]
            if not waiting[carrier]:
                heapq.heappop(heap)
            elif turn != self._turn(carrier):
                heapq.heapreplace(heap, self._turn(carrier))
            else:
                step = waiting[carrier].pop()
                if step.partition not in self._made:
                    self._try(step, most - len(self._made))

    def _turn(self, carrier: int) -> tuple[bool, float, int]:
        return carrier not in self._is_for_hot, -self._loads[carrier], carrier

    def _try(self, first: _Step, most: int) -> None:
        """Makes a move together with the moves that it needs, or none of them."""
        group = [first]
        was = {at: (self._loads[at], self._counts[at]) for at in (first.source, first.target)}
        self._make(first)
        while (burdened := self._burdened(was)) is not None:
            step = self._relief(burdened, was) if len(group) < most else None
            if step is None:
                for each in group:
                    self._make(each, -1)
                    self._made.discard(each.partition)
                return
            was.setdefault(step.target, (self._loads[step.target], self._counts[step.target]))
            self._make(step)
            group.append(step)

    def _burdened(self, was: dict[int, tuple[float, int]]) -> int | None:
        """Returns the first carrier above its maximum load or count; None when there is none."""
        return next((at for at in was if self._over(at, was) > 0 or self._is_full(at, was)), None)

    def _over(self, carrier: int, was: dict[int, tuple[float, int]]) -> float:
        allowed = max(was[carrier][0], self._load_max[carrier])
        return self._loads[carrier] - allowed * (1 + _ROUNDING)

    def _is_full(self, carrier: int, was: dict[int, tuple[float, int]]) -> bool:
        return self._counts[carrier] > max(was[carrier][1], self._count_max)

    def _relief(self, carrier: int, was: dict[int, tuple[float, int]]) -> _Step | None:
        """Returns the smallest move that removes a carrier's excess load, or else the largest."""
        steps = [s for s in self._leaving.get(carrier, ()) if s.partition not in self._made]
        over = self._over(carrier, was)
        enough = [step for step in steps if step.share >= over]
        return enough[-1] if enough else steps[0] if steps else None

    def _make(self, step: _Step, times: int = 1) -> None:
        """Makes a move; with -1 for `times`, takes it back."""
        self._loads[step.source] -= times * step.share
        self._loads[step.target] += times * step.share
        self._counts[step.source] -= times
        self._counts[step.target] += times
        if times > 0:
            self._made.add(step.partition)
