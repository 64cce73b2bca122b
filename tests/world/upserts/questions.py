"""Questions about the rows of an upsert table that the product asks a server, recognized by its own
texts."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from aggregator.upsert import (
    bootstrap,
    claims,
    horizon,
    lost_ends,
    query_session,
    row_block,
    settle_schedule,
    settling,
    stored_rows,
)
from aggregator.upsert.table_names import DELETED, KEY, ORDER, ROW_ID, TIME, UNTIL
from aggregator.upsert.tick import OPEN, ROW_BITS
from aggregator.upsert.upsert_schema import PUBLISHED, TICKS_COLUMNS
from aggregator.upsert.visibility import DAY_S, day_of
from tests.world.sinks import questions as of_sinks
from tests.world.upserts import server_questions
from tests.world.upserts.stored import ROWS, TICKS, UPDATES, UpsertRow

if TYPE_CHECKING:
    from tests.world.upserts.server import UpsertServer

Answer = list[tuple[Any, ...]]
Parameters = Mapping[str, Any]
NEVER_ENDING = 1 << 63
BORN = re.compile(rf"{ROW_ID} < (\d+)")
FROM_ID = re.compile(rf"{ROW_ID} >= (\d+)")
UNTIL_ABOVE = re.compile(rf"{UNTIL} > (\d+)")
ENDED = re.compile(
    r"(NOT )?IN \(SELECT (?:_ends\.)?row_id FROM .*? WHERE (?:_ends\.)?tick > (\d+) "
    r"AND (?:_ends\.)?tick (<=?) (\d+)"
)
DAY = re.compile(rf"{TIME} >= toDateTime\((\d+)\) AND {TIME} < toDateTime\((\d+)\)")
SHARE = re.compile(r"% (\d+) = (\d+)")
SINCE = re.compile(rf"{TIME} >= toDateTime\((\d+)\)")
DELETES = re.compile(rf"\({DELETED} = 1 AND {TIME} >= toDateTime\((\d+)\) OR ")
PLACES = re.compile(r"toString\(_partition\)\), \[(.*?)\], \[", re.DOTALL)
TEXT = re.compile(r"'([^']*)'")
COUNT = "SELECT count() FROM "
LAST_PARTS = f"SELECT toInt64(toUnixTimestamp(max({TIME}))) "
SEEN = "SELECT `id`"


def answered(
    server: UpsertServer, query: str, parameters: Parameters, *, is_consistent: bool
) -> Answer:
    """Returns the answer as rows. Raises ServerException."""
    for begin, answer in BY_BEGIN.items():
        if query.startswith(begin):
            return answer(server, query, parameters, is_consistent)
    if query in server_questions.ANSWERS:
        return server_questions.ANSWERS[query](server, parameters)
    return of_sinks.answered(server, query, parameters)


def _table(query: str) -> str:
    return query.split("`")[3]


# -- rows


def condition(
    server: UpsertServer, text: str, *, is_consistent: bool = False
) -> Callable[[UpsertRow, int], bool]:
    """Returns a condition on rows of the table of rows, and their _until, as its text says."""
    born, first, until = BORN.search(text), FROM_ID.search(text), UNTIL_ABOVE.search(text)
    row_id_end = int(born[1]) if born else NEVER_ENDING
    row_id_first, above = int(first[1]) if first else 0, int(until[1]) if until else -1
    ended = ENDED.search(text)
    ids: set[int] = set()
    if ended:
        after, last = int(ended[2]), int(ended[4]) - (ended[3] == "<")
        ids = {
            it.values["row_id"]
            for it in server.rows(UPDATES, is_consistent=is_consistent)
            if after < it.values["tick"] <= last
        }
    wants_ended = ended is not None and not ended[1]

    def holds(row: UpsertRow, until: int) -> bool:
        row_id = row.values[ROW_ID]
        is_in = row_id_first <= row_id < row_id_end and until > above
        return is_in and (ended is None or (row_id in ids) == wants_ended)

    return holds


def _with_until(
    server: UpsertServer, *, is_consistent: bool = False
) -> Iterator[tuple[UpsertRow, int]]:
    untils = server.untils()
    for row in server.rows(ROWS, is_consistent=is_consistent):
        yield row, untils[row.values[ROW_ID]]


def _seen(server: UpsertServer, query: str, _: Parameters, is_consistent: bool) -> Answer:
    holds, since_s = condition(server, query, is_consistent=is_consistent), _since(query)
    return [
        (it.values["id"], it.values["version"], it.values["name"], it.values["gone"])
        for it, until in _with_until(server, is_consistent=is_consistent)
        if holds(it, until) and it.values[TIME] >= since_s
    ]


def _since(query: str) -> int:
    found = SINCE.search(query)
    return int(found[1]) if found else 0


def _open_rows(server: UpsertServer, query: str, _: Parameters, __: bool) -> Answer:
    holds = condition(server, query)
    ids = [it.values[ROW_ID] for it, until in _with_until(server) if holds(it, until)]
    return [(len(ids), sum(each * each for each in ids))]


def _count(server: UpsertServer, query: str, _: Parameters, __: bool) -> Answer:
    if _table(query) == TICKS:
        return [(0,)]  # those that could be pruned, which are few
    holds = condition(server, query)
    return [(sum(holds(it, until) for it, until in _with_until(server)),)]


def _last_parts(server: UpsertServer, query: str, parameters: Parameters, _: bool) -> Answer:
    text = query.partition(" WHERE ")[2].replace("%%", "%")
    holds = condition(server, text)
    found = []
    for part in server.parts[ROWS]:
        rows: Any = part.rows
        if part.name in parameters["last"]:
            held = [it for it in rows if holds(it, server.until_of(part, it))]
            if held:
                found.append((max(it.values[TIME] for it in held),))
    return found


def _block_rows(server: UpsertServer, _: str, parameters: Parameters, __: bool) -> Answer:
    server.check_table(ROWS)
    old = frozenset(parameters.get("old", ()))
    found = []
    for part in server.parts[ROWS]:
        rows: Any = part.rows
        ids = [
            it.values[ROW_ID]
            for it in rows
            if parameters["begin"] <= it.values[ROW_ID] < parameters["end"]
        ]
        if ids and part.name not in old:
            found.append((part.name, ids, [0] * len(ids)))
    return found


def _stored(server: UpsertServer, _: str, parameters: Parameters, __: bool) -> Answer:
    return [
        tuple(it.values[name] for name in (ROW_ID, KEY, ORDER, DELETED))
        for it in server.rows(ROWS)
        if parameters["begin"] <= it.values[ROW_ID] < parameters["end"]
    ]


def _dead(server: UpsertServer, *_: Any) -> Answer:
    untils = [until for _, until in _with_until(server)]
    return [(len(untils), sum(each < OPEN for each in untils))]


def _doubtful(server: UpsertServer, query: str, _: Parameters, __: bool) -> Answer:
    holds = condition(server, query)
    rows: defaultdict[bytes, list[tuple[int, int, bool, bool]]] = defaultdict(list)
    above = UNTIL_ABOVE.search(query)
    assert above, query
    for it, until in _with_until(server):
        if holds(it, OPEN):
            of = it.values
            is_open = until > int(above[1]) and of[TIME] >= _since(query)
            version = (of[ORDER], of[ROW_ID], is_open, bool(of[DELETED]))
            rows[of[KEY]].append(version)
    return [(sum(_is_doubtful(sorted(each)) for each in rows.values()),)]


def _is_doubtful(rows: list[tuple[int, int, bool, bool]]) -> bool:
    opens = sum(is_open for _, _, is_open, _ in rows)
    return opens > 1 or (opens == 1 and not rows[-1][2])


# -- bootstraps


def _days(server: UpsertServer, query: str, *_: Any) -> Answer:
    counts: defaultdict[int, int] = defaultdict(int)
    for row in server.rows(ROWS):
        if row.values[TIME] >= _since(query):
            counts[row.day] += 1
    return sorted((day_of(day * DAY_S), count) for day, count in counts.items())


def _births(server: UpsertServer, *_: Any) -> Answer:
    first: dict[int, int] = {}
    for row in _ticks(server, "claim"):
        lanes, tick = len(row.values["ends"]), row.values["tick"]
        first[lanes] = min(tick, first.get(lanes, tick))
    return sorted(first.items())


def _slice(server: UpsertServer, query: str, _: Parameters, __: bool) -> Answer:
    day, share, deletes = DAY.search(query), SHARE.search(query), DELETES.search(query)
    texts = PLACES.search(query)
    assert day and texts, query
    places = {text: at for at, text in enumerate(TEXT.findall(texts[1]))}
    is_visible = condition(server, query)
    found = []
    for row, until in _with_until(server):
        of, row_id = row.values, row.values[ROW_ID]
        is_of_day = int(day[1]) <= of[TIME] < int(day[2])
        if not is_of_day or not bootstrap_bounds(query, row_id):
            continue
        if share and np.frombuffer(of[KEY][:2], "<u2")[0] % int(share[1]) != int(share[2]):
            continue
        is_delete = deletes and of[DELETED] == 1 and of[TIME] >= int(deletes[1])
        if is_delete or is_visible(row, until):
            place = "\n".join((of["_cluster"], of["_topic"], str(of["_partition"])))
            packed = np.array(
                [
                    (
                        np.void(of[KEY]), of[ORDER], of["_offset"], of["_row"], row_id,
                        of[DELETED], places.get(place, bootstrap.NO_PLACE),
                    )
                ],
                bootstrap.PACKED,
            )  # fmt: skip
            found.append((packed.tobytes(),))
    return found


def bootstrap_bounds(query: str, row_id: int) -> bool:
    """Returns True for a row id within the bounds that a query has."""
    first, born = FROM_ID.search(query), BORN.search(query)
    return (not first or row_id >= int(first[1])) and (not born or row_id < int(born[1]))


# -- ends and ticks


def _ticks(server: UpsertServer, what: str, *, is_consistent: bool = False) -> list[UpsertRow]:
    number = PUBLISHED.index(what) + 1
    rows = server.rows(TICKS, is_consistent=is_consistent)
    return [it for it in rows if it.values["what"] == number]


def _ends(server: UpsertServer, query: str, _: Parameters, __: bool) -> Answer:
    found = re.search(r"tick > (\d+) AND tick <= (\d+)", query)
    assert found, query
    ends = server.ends_between(int(found[1]), int(found[2]))
    return [(len({it.values["row_id"] for it in ends}),)]


def _read_ticks(
    server: UpsertServer, query: str, parameters: Parameters, is_consistent: bool
) -> Answer:
    rows = [
        it.values
        for it in _ticks(server, parameters["what"], is_consistent=is_consistent)
        if it.values["generation"] == parameters["generation"]
        and parameters["first"] <= it.values["tick"] <= parameters["last"]
    ]
    if "time_ms <= %(time_ms)s" in query:
        rows = [it for it in rows if it["time_ms"] <= parameters["time_ms"]]
    if "max(tick)" in query:
        newest = max((it["tick"] for it in rows), default=0)
        rows = [it for it in rows if it["tick"] >= newest]
    rows.sort(key=lambda it: it["tick"])
    return [
        tuple(PUBLISHED[it[name] - 1] if name == "what" else it[name] for name in TICK_FIELDS)
        for it in rows
    ]


TICK_FIELDS = tuple(TICKS_COLUMNS)


def _newest_stored(server: UpsertServer, *_: Any) -> Answer:
    rows = (it.values[ROW_ID] >> ROW_BITS for it in server.rows(ROWS))
    ends = (it.values["tick"] for it in server.rows(UPDATES))
    return [(max(rows, default=0), max(ends, default=0))]


def _newest(server: UpsertServer, *_: Any) -> Answer:
    claims_of = [(it.values["generation"], it.values["tick"], it.values["time_ms"])
                 for it in _ticks(server, "claim")]  # fmt: skip
    points = [(it.values["generation"], it.values["tick"]) for it in _ticks(server, "settled")]
    newest = max(claims_of, default=None)
    return [newest] if newest and newest[:2] >= max(points, default=(0, 0)) else []


def _horizon(server: UpsertServer, query: str, _: Parameters, __: bool) -> Answer:
    """Answers what the newest horizon is, with its time or without; 0 without any."""
    generation = re.search(r"generation = (\d+)", query)
    found = [
        it.values
        for it in _ticks(server, "horizon")
        if generation is None or it.values["generation"] == int(generation[1])
    ]
    names = ("tick", "time_ms") if "max(time_ms)" in query else ("tick",)
    return [tuple(max((it[name] for it in found), default=0) for name in names)]


def _own_point(server: UpsertServer, _: str, parameters: Parameters, __: bool) -> Answer:
    settled = (
        it.values["tick"]
        for it in _ticks(server, "settled")
        if it.values["tick"] <= parameters["tick"] and parameters["server"] in it.values["servers"]
    )
    horizons = (it.values["tick"] for it in _ticks(server, "horizon"))
    return [(max(settled, default=0), max(horizons, default=0))]


def _time_of(server: UpsertServer, _: str, parameters: Parameters, __: bool) -> Answer:
    times = (
        it.values["time_ms"]
        for it in server.rows(TICKS)
        if it.values["generation"] == parameters["generation"]
        and it.values["tick"] == parameters["tick"]
    )
    return [(max(times, default=0),)]


def _rows_before(server: UpsertServer, _: str, parameters: Parameters, __: bool) -> Answer:
    is_there = any(it.values[TIME] < parameters["since_s"] for it in server.rows(ROWS))
    return [(1,)] if is_there else []


def _points(server: UpsertServer, _: str, parameters: Parameters, __: bool) -> Answer:
    found = [
        (what, it.values["tick"], it.values["time_ms"])
        for what in ("settled", "horizon")
        for it in _ticks(server, what)
        if it.values["generation"] == parameters["generation"]
    ]
    horizons = [each[1:] for each in found if each[0] == "horizon"]
    old = [each[1:] for each in found
           if each[0] == "settled" and each[2] <= parameters["limit"]]  # fmt: skip
    return [(len(found), *max(horizons, default=(0, 0)), *max(old, default=(0, 0)))]


def _newest_points(server: UpsertServer, *_: Any) -> Answer:
    found: dict[str, int] = {}
    for it in _ticks(server, "settled"):
        for name in it.values["servers"]:
            found[name] = max(it.values["tick"], found.get(name, 0))
    return sorted(found.items())


def _settled(server: UpsertServer, _: str, parameters: Parameters, __: bool) -> Answer:
    found = [
        (it.values["tick"], it.values["time_ms"])
        for it in _ticks(server, "settled")
        if it.values["generation"] == parameters["generation"]
        and parameters["first"] <= it.values["tick"] <= parameters["tick"]
        and it.values["time_ms"] <= parameters["time_ms"]
        and parameters["server"] in it.values["servers"]
    ]
    return [max(found, default=(0, 0))]


def _begin(text: str) -> str:
    return text.partition("{")[0]


BY_BEGIN: Mapping[str, Callable[[Any, str, Parameters, bool], Answer]] = {
    _begin(row_block.ROWS): _block_rows,
    _begin(stored_rows.ROWS): _stored,
    "\nSELECT " + claims.FIELDS: _read_ticks,
    _begin(claims.NEWEST_STORED): _newest_stored,
    _begin(settling.ENDS): _ends,
    LAST_PARTS: _last_parts,
    COUNT + "`air`": _count,
    "SELECT concat(_key": _slice,
    _begin(settle_schedule.DEAD): _dead,
    "\nSELECT toYYYYMMDD": _days,
    _begin(bootstrap.BIRTHS): _births,
    _begin(query_session.NEWEST): _newest,
    _begin(query_session.SETTLED): _settled,
    _begin(query_session.POINTS): _points,
    _begin(horizon.NEWEST_POINTS): _newest_points,
    _begin(settling.HORIZON): _horizon,
    _begin(settling.OPEN_ROWS): _open_rows,
    _begin(lost_ends.DOUBTFUL): _doubtful,
    _begin(bootstrap.OWN_POINT): _own_point,
    _begin(query_session.TIME_OF): _time_of,
    _begin(query_session.ROWS_BEFORE): _rows_before,
    SEEN: _seen,
}
