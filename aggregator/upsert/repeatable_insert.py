"""Repeatable insert: a block that is the same whoever inserts it, sent until it is stored.

Whoever does a tick again sends the same blocks. Servers drop a block that they have, by its hash;
the tables of ends and ticks mean the same with a row twice.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from aggregator.store.block_attempts import ACKNOWLEDGEMENTS
from aggregator.store.insert_errors import ErrorClass, InsertProblem
from aggregator.store.retry import RetryPolicy
from aggregator.store.shard_store import NotStored, ShardStore
from aggregator.tables.native_block import NativeBlock

PAUSE_SECONDS = 0.05
PAUSE_SECONDS_MAX = 5.0


@dataclass(slots=True)
class Acknowledgements:
    """Acknowledgements that a block has, and how many it needs. Pure.

    A server may acknowledge a repeat while the first insert still waits for its quorum. A second
    insert is refused (286) as long, so that two acknowledgements in a row prove the quorum.

    Args:
        has_quorum: the shard's inserts wait for other replicas.
        is_repeat: an earlier insert of the block may have stored it.
    """

    has_quorum: bool
    is_repeat: bool
    count: int = 0

    def are_enough(self) -> bool:
        """Returns True if the block is stored on the quorum."""
        needed = ACKNOWLEDGEMENTS if self.has_quorum and self.is_repeat else 1
        return self.count >= needed

    def failed(self, problem: InsertProblem) -> None:
        """Takes in the failure of an insert."""
        self.count = 0
        self.is_repeat |= problem.may_be_stored


class RepeatableInserts:
    """Inserts into the tables of one upsert table. All calls block.

    Args:
        wait: waits for seconds; raises where the caller stops.
        tell: takes each failure that is waited for once as many as there are replicas are over, and
            None when the block is stored after that.
    """

    def __init__(
        self,
        store: ShardStore,
        wait: Callable[[float], None],
        tell: Callable[[InsertProblem | None], None] = lambda problem: None,
    ) -> None:
        self._store = store
        self._wait = wait
        self._tell = tell
        self._policy = RetryPolicy(
            pause_seconds=PAUSE_SECONDS,
            pause_seconds_max=PAUSE_SECONDS_MAX,
            replicas=len(store.replicas),
        )

    def insert(
        self, table: str, block: NativeBlock, query_id: str, *, is_repeat: bool = False
    ) -> None:
        """Inserts a block that has rows of one partition of a table; one without rows is stored.

        Args:
            is_repeat: an earlier insert may have stored the block.

        Raises NotStored if the table has other columns, or is gone. Whatever else is wrong is told
        and waited for, also what an operator has to mend, as by the sink.
        """
        if not block.rows:
            return
        acknowledged = Acknowledgements(self._store.quorum > 1, is_repeat)
        failures, kind, all_failures = 0, None, 0
        while not acknowledged.are_enough():
            try:
                self._store.insert_native(table, block, query_id, is_one_part=True)
            except NotStored as error:
                problem = error.problem
                if problem.error_class is ErrorClass.REFRESH:
                    raise
                acknowledged.failed(problem)
                failures = failures + 1 if problem.error_class is kind else 1
                kind = problem.error_class
                all_failures += 1
                # A replica that restarts is nothing to tell of: the next one has the block already.
                if all_failures >= len(self._store.replicas):
                    self._tell(problem)
                self._wait(self._pause(problem, failures))
            else:
                acknowledged.count += 1
                failures, kind = 0, None
        if all_failures >= len(self._store.replicas):
            self._tell(None)

    def _pause(self, problem: InsertProblem, failures: int) -> float:
        """Returns the seconds to wait. A server that starts refuses as one without rights does
        (164), so that the other replicas are tried first."""
        if problem.leaves_replica and failures < len(self._store.replicas):
            return PAUSE_SECONDS
        return self._policy.pause(problem, failures, random.random())
