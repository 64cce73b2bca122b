"""Lost ends: whether the rows of a server prove that it lacks no end, although nobody can say so.

Ends up to the horizon are dropped. A server whose settle point lies before it is compared with one
that has a later point (settling.py). If no such server is left, as all were replaced while nothing
settled, the rows themselves have to tell: a row whose end never came in is open beside the row that
ended it, or beside a later delete. So a key is in doubt if it has two open rows, or one that is not
its newest; a server without such a key lacks no end, and settles from the horizon on.

Versions of equal order go by the number of their partition (version.py), which a row does not have.
An open row and a delete of one order are told apart within one partition, by their place in it; of
two partitions they leave the key in doubt, which is never wrong. So does a row of a day that is
over, which a bootstrap had forgotten when versions before it came in.
"""

from __future__ import annotations

from clickhouse_driver import Client

from aggregator.store.identifier import quoted
from aggregator.upsert.table_names import DELETED, KEY, ORDER, ROW_ID, TIME, UNTIL, rows_table
from aggregator.upsert.tick import ROW_BITS
from aggregator.upsert.visibility import row_id_end

SPILLS = {"max_bytes_before_external_group_by": 1 << 30}
"""Memory from which on the keys go to the server's disk: there may be very many."""
OPENED = f"({UNTIL} > {{tick}} AND {TIME} >= toDateTime({{since_s}}))"
PLACE = "cityHash64(_cluster, _topic, _partition)"
DOUBTFUL = f"""
SELECT count() FROM (
    SELECT {KEY} FROM (
        SELECT {KEY}, {ORDER}, countIf({OPENED}) AS opens,
            opens > 0 AND max({DELETED}) = 1 AND (
                maxIf({ROW_ID}, {DELETED} = 1) > maxIf({ROW_ID}, {OPENED})
                OR min({PLACE}) != max({PLACE})
            ) AS is_tied
        FROM {{rows}}
        WHERE {ROW_ID} >= {1 << ROW_BITS} AND {ROW_ID} < {{end}}
        GROUP BY {KEY}, {ORDER}
    )
    GROUP BY {KEY}
    HAVING sum(opens) > 1
        OR sum(opens) = 1 AND (max({ORDER}) > maxIf({ORDER}, opens > 0) OR max(is_tied) = 1)
)
"""


def doubtful_query(database: str, table: str, tick: int, since_s: int) -> str:
    """Returns the query that counts the keys whose newest row at a tick is in doubt.

    Args:
        since_s: begin of the oldest day that is seen at the tick (visibility.shown_since_s): rows
            of earlier ones may have no end at all. They speak against older rows all the same.
    """
    rows = quoted(database, rows_table(table))
    return DOUBTFUL.format(rows=rows, tick=tick, end=row_id_end(tick), since_s=since_s)


def doubtful_keys(client: Client, database: str, table: str, tick: int, since_s: int) -> int:
    """Returns the number of keys in doubt. Reads all rows; for a server that has all of them.

    Raises the errors of the driver and of the socket.
    """
    query = doubtful_query(database, table, tick, since_s)
    [(keys,)] = client.execute(query, settings=SPILLS)
    return int(keys)
