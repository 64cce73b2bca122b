"""Orders of operators about one feed, in the form in which its loaders receive them. Pure."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import Freeze, RefreshSchema, SkipReplay


class FeedOrders(BaseModel):
    """Orders about one feed. `model_dump_json` and `model_validate_json` carry them to loaders.

    Orders may expire after they were collected; each query takes the time as of which it is asked.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    feed: str
    freezes: tuple[Freeze, ...] = ()
    refreshes: tuple[RefreshSchema, ...] = ()
    skips: tuple[SkipReplay, ...] = ()

    @classmethod
    def of(cls, order_log: OrderLog, feed: str, now_ms: int) -> FeedOrders:
        """Returns the unexpired orders about a feed."""
        return cls(
            feed=feed,
            freezes=tuple(order_log.of(Freeze, feed, now_ms)),
            refreshes=tuple(order_log.of(RefreshSchema, feed, now_ms)),
            skips=tuple(order_log.of(SkipReplay, feed, now_ms)),
        )

    def frozen(
        self, cluster: str, topic: str, partition: int, table: str | None = None, *, now_ms: int
    ) -> Freeze | None:
        """Returns the oldest freeze of a partition, or of a table in it; None if it is read.

        Without a table only freezes count that stop the partition at any record.
        """
        wanted = {"cluster": cluster, "topic": topic, "partition": partition, "table": table}
        found = (
            freeze
            for freeze in self.freezes
            if not freeze.is_over(now_ms)
            and all(getattr(freeze, name) in (None, value) for name, value in wanted.items())
        )
        return min(found, key=lambda freeze: freeze.at_ms, default=None)

    def refreshed_at_ms(self, table: str) -> int | None:
        """Returns the time before which no fetched columns of a table count; None for any time."""
        times = (each.at_ms for each in self.refreshes if each.table in (None, table))
        return max(times, default=None)

    def skipped(
        self,
        cluster: str,
        topic: str,
        partition: int,
        table: str,
        begin: int,
        end: int,
        incarnation: int = 0,
    ) -> SkipReplay | None:
        """Returns the order to drop exactly this block; None if the block has to be loaded.

        Args:
            incarnation: of the partition's log: a former one may have had a block of the same name.
        """
        block = (cluster, topic, partition, table, begin, end, incarnation)
        found = (
            each
            for each in self.skips
            if (*each.subject, each.begin, each.end, each.incarnation or 0) == block
        )
        return next(found, None)
