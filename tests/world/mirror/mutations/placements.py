"""Mutations of balancers: on which placement they place, and whether they may write."""

from __future__ import annotations

from collections.abc import Iterable

from typing_extensions import override

from replicator.orders.balance_log import Publisher, Superseded
from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import AnyRecord, Placed
from replicator.placement.rounds.balancer_leadership import BalancerLeadership
from replicator.placement.rounds.rounds import Rounds
from tests.world.mirror.mutations.mutation import Mutation
from tests.world.mirror.parts import Parts


class WritesOn(BalancerLeadership):
    """Takes the leadership back when a newer balancer has it."""

    @override
    async def write(self, records: Iterable[AnyRecord], tombstones: Iterable[bytes] = ()) -> None:
        wanted, deleted = tuple(records), tuple(tombstones)
        try:
            await super().write(wanted, deleted)
        except Superseded:
            self._publisher = await self.opened_producer()
            await super().write(wanted, deleted)


class BeginsAnew(Rounds):
    """Reads orders, and no placement of an earlier balancer."""

    @override
    def update_orders(self, order_log: OrderLog) -> None:
        own = {key: it for key, it in order_log.records.items() if not isinstance(it, Placed)}
        super().update_orders(OrderLog(own))


class LooksOnce(BalancerLeadership):
    """Looks for a newer balancer only before it opens its producer again."""

    @override
    async def _reacquire(self) -> Publisher:
        if successor := self._successor(await self._read()):
            raise Superseded(successor)
        return await self.opened_producer()


def _in_balance(name: str, parts: Parts) -> Mutation:
    return Mutation(27, name, family="balance", parts=parts)


MUTATIONS = (
    _in_balance("a fenced balancer writes on", Parts(balancer_leadership=WritesOn)),
    Mutation(
        27,
        "the log is not read again by a balancer that opens its producer again",
        family="fences",
        parts=Parts(balancer_leadership=LooksOnce),
    ),
    _in_balance("earlier placements are not read", Parts(rounds=BeginsAnew)),
)
