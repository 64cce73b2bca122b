"""Recognition: the rows of a block that a table already has, found by their coordinates.

A block that may have been sent before is not simply sent again: the deduplication window may have
passed, and the rebuilt block may be another one. The table is asked first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
import numpy.typing as npt
from clickhouse_driver import Client

from aggregator.intents.table_range import KeeperMoment
from aggregator.store.block_memory import read_hash_list
from aggregator.store.block_name import NamedBlock
from aggregator.store.identifier import quoted

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

PARTS_EXCLUDED_MAX = 2000
"""Names of parts that one query may list: its text has a limit of 256 KiB."""
OLD_PARTS = """
SELECT name FROM system.parts
WHERE database = %(database)s AND table = %(table)s AND active AND name IN (
    SELECT name FROM system.zookeeper WHERE path = %(path)s AND czxid <= %(zxid)s
) ORDER BY rows DESC LIMIT %(most)s
"""
RUNNING = """
SELECT count() FROM system.processes
WHERE query_id = %(name)s OR startsWith(query_id, concat(%(name)s, '-rest-'))
"""
QUEUE = "inserts_in_queue, log_pointer, log_max_index, is_session_expired, zookeeper_path"
REPLICA = f"""
SELECT {QUEUE} FROM system.replicas WHERE database = %(database)s AND table = %(table)s
"""
ENTRIES = "SELECT count() FROM system.zookeeper WHERE path = %(path)s"
REPLICA_PATH = """
SELECT replica_path FROM system.replicas WHERE database = %(database)s AND table = %(table)s
"""
KNOWN_PARTS = """
SELECT name FROM system.zookeeper WHERE path = %(path)s AND name IN %(parts)s
"""
UNCOMMITTED = """
SELECT count() FROM system.parts
WHERE database = %(database)s AND table = %(table)s AND active AND name NOT IN (
    SELECT name FROM system.zookeeper WHERE path = %(path)s
)
"""


@dataclass(frozen=True, slots=True, eq=False)
class Identities:
    """Identities of rows of one partition: the record's offset and the row's number in it."""

    offset: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    row: Ints = field(default_factory=lambda: np.empty(0, np.int64))

    def __len__(self) -> int:
        return len(self.offset)

    def among(self, others: Identities) -> Mask:
        """Returns for each row True if it is one of the others."""
        offsets = np.unique(others.offset)
        if not len(offsets) or not len(self):
            return np.zeros(len(self), np.bool_)
        # Numbers of rows take 32 bits, and numbers of offsets fewer than 31.
        at = np.minimum(np.searchsorted(offsets, self.offset), len(offsets) - 1)
        known = np.searchsorted(offsets, others.offset) << 32 | others.row
        are_among: Mask = (offsets[at] == self.offset) & np.isin(at << 32 | self.row, known)
        return are_among

    @classmethod
    def joined(cls, parts: Iterable[Identities]) -> Identities:
        """Returns the rows of all parts."""
        found = [cls(), *parts]
        return cls(
            np.concatenate([each.offset for each in found]),
            np.concatenate([each.row for each in found]),
        )


class Verdict(StrEnum):
    """Next step with a block that may have been sent before."""

    DONE = "done"
    """The table has all rows, on as many replicas as the quorum demands."""
    INSERT = "insert"
    """The block is inserted as it is."""
    INSERT_REST = "insert the rest"
    """The rows that the table lacks are inserted."""
    LOOK_AGAIN = "look again"
    """It is not known yet which rows the table will have."""


@dataclass(frozen=True, slots=True, eq=False)
class ReplicaSight:
    """Rows of a block's range that a replica has.

    Args:
        rows: those of committed parts, which other replicas fetch.
        is_complete: the replica had every part that was committed when the look began.
        uncommitted: rows of parts that ZooKeeper does not know, since their commit has failed or is
            still under way. They are shown until the part is merged over, or the server restarts.
    """

    rows: Identities
    is_complete: bool = True
    uncommitted: Identities = field(default_factory=Identities)


@dataclass(frozen=True, slots=True, eq=False)
class Sight:
    """Look at a table on all replicas.

    Args:
        is_running: an insert of the block ran on a replica when the look began.
        silent: number of replicas that did not answer, and may execute an insert of the block.
        uncommitted: number of replicas with rows whose commit may still be under way.
    """

    replicas: tuple[ReplicaSight, ...]
    is_running: bool = False
    silent: int = 0
    uncommitted: int = 0

    @property
    def doubt(self) -> str:
        """Reason why rows that were not seen may be in the table all the same; or empty."""
        if self.silent:
            return f"{self.silent} silent replicas may execute an earlier insert of the block"
        if self.uncommitted:
            return "a replica has rows of the block in a part that ZooKeeper does not know yet"
        if not any(replica.is_complete for replica in self.replicas):
            return "no replica has all parts yet, and one of them may hold rows of the block"
        return ""


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """Verdict about a block.

    Args:
        lacking: for INSERT_REST, True for each row to insert.
        why: reason to LOOK_AGAIN, or doubt in spite of which the same block may be inserted.
    """

    verdict: Verdict
    lacking: Mask = field(default_factory=lambda: np.empty(0, np.bool_))
    why: str = ""


def decide(block: Identities, sight: Sight, *, quorum: int, is_deduplicated: bool) -> Decision:
    """Returns the next step with a block that may have been sent before.

    Args:
        quorum: replicas that must have a row before it counts as stored.
        is_deduplicated: the block is the same that may have been sent, and the table recognizes it.
    """
    copies = np.zeros(len(block), np.int64)
    for replica in sight.replicas:
        copies += block.among(replica.rows)
    if (copies >= max(quorum, 1)).all():
        return Decision(Verdict.DONE)
    if sight.is_running:
        return Decision(Verdict.LOOK_AGAIN, why="an earlier insert of the block still runs")
    if ((copies > 0) & (copies < quorum)).any():
        return Decision(Verdict.LOOK_AGAIN, why="rows of the block wait for their quorum")
    if sight.doubt:
        # Another block than the one that may have been sent would not be recognized as its repeat.
        verdict = Verdict.INSERT if is_deduplicated else Verdict.LOOK_AGAIN
        return Decision(verdict, why=sight.doubt)
    if not copies.any():
        return Decision(Verdict.INSERT)
    return Decision(Verdict.INSERT_REST, copies == 0)


def replica_sight(
    client: Client, database: str, name: NamedBlock, moment: KeeperMoment | None = None
) -> ReplicaSight:
    """Returns the rows of a block's range that the server has. Raises the errors of the driver.

    Rows that wait for their quorum are among them. Reads with select_sequential_consistency leave
    out more than those: 18.16 looks at the last quorum block only, so that a replica which took
    that one answers without earlier ones that it lacks; and rows inserted without a quorum are
    hidden.

    Args:
        moment: before which no row of the block was inserted; None: all parts are read.
    """
    # Completeness first: rows are read from parts that the answer is about. ZooKeeper last: it
    # knows a part before the part's rows are shown.
    complete = is_complete(client, database, name.table)
    path = replica_path(client, database, name.table)
    since = moment if moment and path and _is_known(client, path, moment) else None
    parts = _rows_by_part(client, database, name, path, since)
    committed = _committed(client, path, parts) if parts and path else parts
    return ReplicaSight(
        Identities.joined(rows for part, rows in parts.items() if part in committed),
        complete,
        Identities.joined(rows for part, rows in parts.items() if part not in committed),
    )


def _is_known(client: Client, path: str, moment: KeeperMoment) -> bool:
    """Returns True if a moment is one of the table as ZooKeeper has it now."""
    hashes = read_hash_list(client, path.rpartition("/replicas/")[0])
    return hashes is not None and hashes.has(moment)


def _rows_by_part(
    client: Client, database: str, name: NamedBlock, path: str, since: KeeperMoment | None
) -> dict[str, Identities]:
    """Returns identities by part.

    Args:
        path: of the replica in ZooKeeper.
        since: moment before which no row of the block was inserted.
    """
    # Old parts are excluded, not new ones included: a part that is merged meanwhile has a new name.
    # Their names are listed, as 18.16 reads every part when `_part` is compared with a query.
    old: list[tuple[str]] = []
    if since is not None:
        asked = {"database": database, "table": name.table, "path": f"{path}/parts"}
        old = client.execute(OLD_PARTS, {**asked, "zxid": since.zxid, "most": PARTS_EXCLUDED_MAX})
    sought = name.sought()
    query = sought.query.format(table=quoted(database, name.table).replace("%", "%%"))
    parameters = dict(sought.parameters)
    if old:
        query += "AND _part NOT IN %(old)s "
        parameters["old"] = tuple(part for (part,) in old)
    return {
        part: Identities(np.array(offset, np.int64), np.array(row, np.int64))
        for part, offset, row in client.execute(f"{query}GROUP BY _part", parameters)
    }


def _committed(client: Client, path: str, parts: Collection[str]) -> Collection[str]:
    """Returns the parts that the replica has for good, by ZooKeeper.

    An insert whose commit gets no answer (319) leaves its part active, commit or no commit.
    """
    known = client.execute(KNOWN_PARTS, {"path": f"{path}/parts", "parts": tuple(parts)})
    return {name for (name,) in known}


def has_uncommitted(client: Client, database: str, table: str, path: str) -> bool:
    """Returns True if a server shows parts of inserts whose commit got no answer, and was not made.

    It shows them until it has looked for them in ZooKeeper, minutes later, and the rows of the
    repeated insert beside them.

    Args:
        path: of the replica in ZooKeeper.
    """
    asked = {"database": database, "table": table, "path": f"{path}/parts"}
    return bool(client.execute(UNCOMMITTED, asked) != [(0,)])


def replica_path(client: Client, database: str, table: str) -> str:
    """Returns the path of the server's replica in ZooKeeper, whose last part is the replica's name;
    empty for a table that is not replicated."""
    found = client.execute(REPLICA_PATH, {"database": database, "table": table})
    return str(found[0][0]) if found else ""


def is_running(client: Client, name: NamedBlock) -> bool:
    """Returns True if the server executes an insert of the block, or of a part of it."""
    [(count,)] = client.execute(RUNNING, {"name": str(name)})
    return bool(count)


def is_complete(client: Client, database: str, table: str) -> bool:
    """Returns True if the server has every part of a table that was committed before the call.

    That a part is committed stands in a log in ZooKeeper, which each replica copies into its queue.
    """
    found = client.execute(REPLICA, {"database": database, "table": table})
    return has_all(client, *found[0]) if found else True  # not replicated


def has_all(
    client: Client,
    inserts_in_queue: int,
    pointer: int,
    last: int,
    is_expired: int,
    path: str,
) -> bool:
    """Returns True if nothing that was committed is left to fetch, by a row of QUEUE."""
    if inserts_in_queue or is_expired:
        return False
    if pointer == last == 0:
        # Both are 0 for an empty log, and for a log of one entry that is not copied yet.
        return bool(client.execute(ENTRIES, {"path": f"{path}/log"}) == [(0,)])
    return bool(pointer > last)
