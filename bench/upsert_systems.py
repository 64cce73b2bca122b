"""Tables and queries of case `read` of upsert tables: each system's own, over the same rows.

Row n of the load is a function of n. Each pass over the keys has another order of values, and row n
ends row n - keys: winners, ends and what collapses a row follow without reading.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from aggregator.tables.table_schema import COORDINATES
from aggregator.upsert.query_rewrite import rewritten
from aggregator.upsert.seen_rows import ReadMark, UpsertNames
from aggregator.upsert.table_names import rows_table, updates_table
from aggregator.upsert.tick import OPEN, ROW_BITS
from aggregator.upsert.upsert_schema import ServerTraits, store_tables
from aggregator.upsert.user_query import UserQuery
from replicator.config.upsert_table import UpsertTable

TABLE = UpsertTable(
    name="flight_status",
    semantic="upsert",
    columns={
        "id": "UInt64", "carrier": "String", "delay": "Int32", "seats": "UInt16",
        "version": "UInt64", "at": "DateTime",
    },
    primary_key=("id",),
    newest_column="version",
)  # fmt: skip
DATABASE = "default"
NAMES = UpsertNames(TABLE.name, tuple(TABLE.columns), TABLE.primary_key)
CLUSTER, TOPIC = "west aggregate", "flights"
BEGIN_S, DAYS = 20_000 * 86_400, 3
TICK_ROWS = 2_000
STRIDE = 7_919
"""Prime, so that each pass visits every key once, whatever their number (of no factor 7 919)."""
APPEND, CURRENT, SETTLED, FRESH = "append", "current_rows_only", "sluice_settled", "sluice_fresh"
REPLACING, BEST, ARGMAX = "replacing_final", "replacing_final_best", "argmax"
COLLAPSING_SUM, COLLAPSING = "collapsing_sum", "collapsing_final"
SYSTEMS = (
    APPEND, CURRENT, SETTLED, FRESH, REPLACING, BEST, ARGMAX, COLLAPSING_SUM, COLLAPSING,
)  # fmt: skip
BEST_SETTINGS = "do_not_merge_across_partitions_select_final = 1"


@dataclass(frozen=True, slots=True)
class Query:
    """Query of a user.

    Args:
        sql: with {t} for the table.
        needs: columns beside the key.
        collapsing: the same over rows with a sign.
        on_key: condition on the key, which argMax may have inside as well.
    """

    name: str
    sql: str
    needs: tuple[str, ...]
    collapsing: str
    on_key: str = ""


def queries(keys: int) -> tuple[Query, ...]:
    """Returns the queries over a table with so many keys."""
    point, low, high = keys // 3, keys // 2, keys // 2 + keys // 100
    is_key, is_range = f"id = {point}", f"id BETWEEN {low} AND {high}"
    is_some = "seats BETWEEN 100 AND 120 AND carrier = 'carrier 3'"
    joined = "ANY LEFT JOIN carriers USING carrier GROUP BY title ORDER BY title"
    return (
        Query("sum", "SELECT sum(delay), count() FROM {t}", ("delay",),
              "SELECT sum(delay * sign), sum(sign) FROM {t}"),
        Query("average by group",
              "SELECT carrier, avg(delay) FROM {t} GROUP BY carrier ORDER BY carrier",
              ("carrier", "delay"),
              "SELECT carrier, sum(delay * sign) / sum(sign) FROM {t} GROUP BY carrier "
              "HAVING sum(sign) > 0 ORDER BY carrier"),
        Query("count distinct", "SELECT uniqExact(seats) FROM {t}", ("seats",),
              "SELECT count() FROM (SELECT seats FROM {t} GROUP BY seats HAVING sum(sign) > 0)"),
        Query("filtered scan", f"SELECT count(), max(delay) FROM {{t}} WHERE {is_some}",
              ("carrier", "delay", "seats"),
              "SELECT sum(many), max(delay) FROM (SELECT delay, sum(sign) AS many FROM {t} "
              f"WHERE {is_some} GROUP BY delay HAVING sum(sign) > 0)"),
        Query("top 10", "SELECT id, delay FROM {t} ORDER BY delay DESC, id LIMIT 10", ("delay",),
              "SELECT id, delay FROM {t} GROUP BY id, delay HAVING sum(sign) > 0 "
              "ORDER BY delay DESC, id LIMIT 10"),
        Query("point", f"SELECT id, carrier, delay, seats FROM {{t}} WHERE {is_key}",
              ("carrier", "delay", "seats"),
              f"SELECT id, carrier, delay, seats FROM {{t}} WHERE {is_key} "
              "GROUP BY id, carrier, delay, seats HAVING sum(sign) > 0", is_key),
        Query("key range", f"SELECT sum(seats), count() FROM {{t}} WHERE {is_range}", ("seats",),
              f"SELECT sum(seats * sign), sum(sign) FROM {{t}} WHERE {is_range}", is_range),
        Query("join", f"SELECT title, sum(delay) FROM {{t}} {joined}", ("carrier", "delay"),
              f"SELECT title, sum(delay * sign) FROM {{t}} {joined}"),
    )  # fmt: skip


def text_of(query: Query, system: str, fresh: ReadMark) -> str:
    """Returns the query as a system has it.

    Args:
        fresh: mark of the newest tick; `sluice_settled` reads at its settle point.
    """
    match system:
        case "sluice_settled" | "sluice_fresh":
            point = fresh.settled
            mark = fresh if system == FRESH else ReadMark(point, point, point)
            asked = UserQuery(
                query.sql.format(t=TABLE.name), {TABLE.name: NAMES}, DATABASE, is_all_versions=False
            )
            return rewritten(asked, {TABLE.name: mark})
        case "argmax":
            inner = ", ".join(f"argMax({name}, version) AS new_{name}" for name in query.needs)
            outer = ", ".join(f"new_{name} AS {name}" for name in query.needs)
            where = f" WHERE {query.on_key}" if query.on_key else ""
            newest = f"SELECT id, {inner} FROM {APPEND}{where} GROUP BY id"
            return query.sql.format(t=f"(SELECT id, {outer} FROM ({newest})) AS newest")
        case "collapsing_sum":
            return query.collapsing.format(t="collapsing")
        case "collapsing_final":
            return query.sql.format(t="collapsing FINAL")
        case "replacing_final":
            return query.sql.format(t="replacing FINAL")
        case "replacing_final_best":
            return f"{query.sql.format(t='replacing_by_key FINAL')} SETTINGS {BEST_SETTINGS}"
    return query.sql.format(t=system)


def statements(traits: ServerTraits, *, has_best: bool) -> Iterator[str]:
    """Yields the statements that make the tables of all systems."""
    kinds = {**TABLE.columns, **COORDINATES}
    listed = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
    users = ", ".join(f"{name} {kind}" for name, kind in TABLE.columns.items())
    by_day = "PARTITION BY toYYYYMMDD(at) ORDER BY id"
    for name in (APPEND, CURRENT):
        yield f"CREATE TABLE {name} ({listed}) ENGINE = MergeTree() {by_day}"
    yield f"CREATE TABLE replacing ({users}) ENGINE = ReplacingMergeTree(version) ORDER BY id"
    if has_best:
        yield (
            f"CREATE TABLE replacing_by_key ({users}) ENGINE = ReplacingMergeTree(version) "
            "PARTITION BY id % 8 ORDER BY id"
        )
    yield (
        f"CREATE TABLE collapsing ({users}, sign Int8) "
        "ENGINE = CollapsingMergeTree(sign) ORDER BY id"
    )
    columns = "carrier String, title String"
    yield f"CREATE TABLE carriers ({columns}) ENGINE = MergeTree() ORDER BY carrier"
    yield (
        "INSERT INTO carriers SELECT concat('carrier ', toString(number)), "
        "concat('title ', toString(number % 5)) FROM numbers(20)"
    )
    for each in store_tables(TABLE):
        yield each.create(DATABASE, traits)


@dataclass(frozen=True, slots=True)
class Load:
    """Rows of the load.

    Args:
        keys: their number.
        rows: of the base, with all versions.
    """

    keys: int
    rows: int

    @property
    def ticks(self) -> int:
        """Newest tick of the base."""
        return tick_at(self.rows - 1)

    def winners(self) -> str:
        """Returns the statement that fills the table of the winners of the base."""
        return self._insert(CURRENT, COORDINATES, self.rows - self.keys, self.keys)

    def inserts(self, first: int, count: int, *, has_best: bool) -> Iterator[str]:
        """Yields the statements that add the rows [first, first + count) to all tables but that of
        the winners."""
        yield self._insert(APPEND, COORDINATES, first, count)
        yield self._insert("replacing", {}, first, count)
        if has_best:
            yield self._insert("replacing_by_key", {}, first, count)
        ended = max(first, self.keys)
        if ended < first + count:
            # First: the engine collapses a row with the next one of its key.
            before = ended - self.keys, first + count - ended
            yield self._insert("collapsing", {"sign": "Int8"}, *before, sign=-1)
        yield self._insert("collapsing", {"sign": "Int8"}, first, count)
        # The ends come before the mark of their tick, as in the product.
        columns = "_row_id, _until, _deleted, _key, _order, _time"
        own = dict.fromkeys(columns.split(", "), "")
        yield self._insert(rows_table(TABLE.name), {**COORDINATES, **own}, first, count)
        if ended < first + count:
            yield (
                f"INSERT INTO {updates_table(TABLE.name)} SELECT {row_id(f'(n - {self.keys})')}, "
                f"toUInt32(intDiv(n, {TICK_ROWS}) + 1), {row_id('n')}, 'superseded', 0, "
                f"n - {self.keys}, MD5(toString(n * {STRIDE} % {self.keys})) "
                f"FROM (SELECT number + {ended} AS n FROM numbers({first + count - ended}))"
            )

    def _insert(
        self, table: str, more: dict[str, str], first: int, count: int, sign: int = 1
    ) -> str:
        key = f"n * {STRIDE} % {self.keys}"
        time = f"toDateTime({BEGIN_S} + intDiv(n * {DAYS * 86_400}, {self.rows}) % {DAYS * 86_400})"
        values = {
            "id": key,
            "carrier": "concat('carrier ', toString(intHash32(n) % 20))",
            "delay": "toInt32(intHash32(n + 1) % 100000) - 1000",
            "seats": "toUInt16(intHash32(n + 2) % 500)",
            "version": "n",
            "at": time,
            "_cluster": f"'{CLUSTER}'",
            "_topic": f"'{TOPIC}'",
            "_partition": "0",
            "_offset": "n",
            "_row": "0",
            "_row_id": row_id("n"),
            "_until": f"toUInt32({OPEN})",
            "_deleted": "0",
            "_key": f"MD5(toString({key}))",
            "_order": "toInt64(n)",
            "_time": time,
            "sign": f"toInt8({sign})",
        }
        names = [*TABLE.columns, *more]
        listed = ", ".join(values[name] for name in names)
        return (
            f"INSERT INTO {table} ({', '.join(names)}) SELECT {listed} "
            f"FROM (SELECT number + {first} AS n FROM numbers({count}))"
        )


def row_id(number: str) -> str:
    """Returns the id of a row by its number, as SQL."""
    tick = f"intDiv({number}, {TICK_ROWS}) + 1"
    return f"toUInt64(({tick}) * {1 << ROW_BITS} + {number} % {TICK_ROWS})"


def tick_at(number: int) -> int:
    """Returns the tick of a row."""
    return number // TICK_ROWS + 1
