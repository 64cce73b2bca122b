"""sluice sql: a SELECT over upsert tables, at a mark."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from replicator.runtime.plain_text import one_line
from tui.commands.exit_codes import ExitCode
from tui.commands.options import config_option, output_option, timeout_option, usage_errors
from tui.commands.output import is_printed, say
from tui.commands.text import instant, table

if TYPE_CHECKING:
    from aggregator.upsert.query_mark import At
    from aggregator.upsert.reader import Answer, ShownMark

PAGE_ROWS = 1000
"""Rows of a table for people whose columns are as wide as the widest cell of these rows."""
STDIN = "-"
Row = Sequence[Any]


@click.command("sql")
@config_option
@click.argument("query", metavar="SELECT")
@click.option("--feed", metavar="FEED", help="Feed of the tables, if two feeds have such a table.")
@click.option("--settled", is_flag=True, help="Read at the newest settle point: the cheapest mark.")
@click.option(
    "--as-of",
    "as_of",
    metavar="TICK|TIME|5m",
    help="Read as of a tick, a time such as 2026-11-22T03:00:00Z, or so long ago.",
)
@click.option(
    "--all-versions", is_flag=True, help="Read rows that ended as well, with what ended each."
)
@click.option(
    "--user",
    default="default",
    show_default=True,
    envvar="SLUICE_SQL_USER",
    show_envvar=True,
    help="User of ClickHouse, who needs to read only.",
)
@click.option(
    "--password-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    envvar="SLUICE_SQL_PASSWORD_FILE",
    show_envvar=True,
    help="File with the user's password.",
)
@click.option(
    "--show-query", is_flag=True, help="Print the query as the server gets it, on stderr."
)
@timeout_option(30.0, "Seconds to wait for a server that is complete, and for data of an answer.")
@output_option
def sql(
    config: str,
    query: str,
    feed: str | None,
    settled: bool,
    as_of: str | None,
    all_versions: bool,
    user: str,
    password_file: Path | None,
    show_query: bool,
    timeout: float,
    output: str,
) -> int:
    """Query upsert tables: the newest row of each key, as of one mark for the whole query.

    The mark is the newest tick that the server holds whole, unless --settled or --as-of names
    another one; the last line on stderr says which one it was. SELECT - reads the query from stdin.
    A query can name $validFrom, $validUntil and $kafkaOffset, with --all-versions also $endKind,
    $endedBy, $rowId and $isDelete. Rows are printed as they come. docs/upsert.md has which
    constructs each server takes. Exits with 2 for a query that cannot be read at a mark, and with 4
    for a mark that is too old or not there yet. Exits with 3 when no server answers whole, and with
    1 when the server ends the query.
    """
    from aggregator.upsert.reader import Reader
    from replicator.config.security import read_secret
    from replicator.config.topology import load

    at = mark_of(as_of, is_settled=settled, now_ms=time.time_ns() // 1_000_000)
    text = sys.stdin.read() if query == STDIN else query
    password = read_secret(password_file) if password_file else ""
    reader = Reader.of(
        load(config), feed=feed, user=user, password=password, timeout_seconds=timeout
    )
    with reader.query(text, at, all_versions=all_versions) as answer:
        if show_query:
            click.echo(answer.sql, err=True)
        names = [column.name for column in answer.columns]
        lines = lines_of(output, names, answer, answer_values(answer))
        if not all(map(is_printed, lines)):
            return ExitCode.DONE
        say(*marks_text(answer.server, answer.marks))
    return ExitCode.DONE


def mark_of(as_of: str | None, *, is_settled: bool, now_ms: int) -> At:
    """Returns the mark of a command line. Raises UsageError."""
    from aggregator.upsert.query_mark import SETTLED, At
    from replicator.audit.window import BadWindow
    from replicator.audit.window import instant as instant_ms

    if as_of is None:
        return SETTLED if is_settled else At()
    if is_settled:
        raise click.UsageError("--settled or --as-of, not both")
    if as_of.isdecimal():
        return At(tick=int(as_of))
    with usage_errors(BadWindow, prefix="--as-of: "):
        return At(time_ms=instant_ms(as_of, now_ms))


def answer_values(answer: Answer) -> dict[str, Any]:
    """Returns what JSON and YAML tell beside the rows."""
    return {
        "server": answer.server,
        "marks": {table: mark_values(shown) for table, shown in answer.marks.items()},
        "columns": [column._asdict() for column in answer.columns],
    }


def mark_values(shown: ShownMark) -> dict[str, Any]:
    """Returns plain values for JSON and YAML."""
    mark = shown.mark
    return {
        "generation": shown.generation,
        "tick": mark.tick,
        "settled": mark.settled,
        "newest": shown.newest.tick,
        "newest_at": instant(shown.newest.time_ms),
        "all_versions": mark.is_all_versions,
    }


def marks_text(server: str, marks: Mapping[str, ShownMark]) -> Iterator[str]:
    """Yields a line for each table: the mark at which it was read, and where."""
    for table_name, shown in marks.items():
        mark, newest = shown.mark, shown.newest
        if not newest.tick:
            yield f"{table_name} has no tick yet, so no row: `sluice aggregate` keeps it ({server})"
            continue
        what = "all versions up to" if mark.is_all_versions else "read at"
        yield (
            f"{table_name} {what} tick {mark.tick} (settled up to {mark.settled}; newest "
            f"{newest.tick}, of {instant(newest.time_ms)}), by {server}"
        )


def lines_of(
    output: str, names: Sequence[str], rows: Iterable[Row], head: Mapping[str, Any]
) -> Iterator[str]:
    """Yields the lines of an answer as its rows come.

    Args:
        names: of the columns.
        head: what JSON and YAML tell before the rows.
    """
    if output == "table":
        yield from _pages(names, rows)
        return
    from aggregator.upsert.answer_columns import json_value

    doubled = sorted({name for name in names if list(names).count(name) > 1})
    if doubled:
        raise click.UsageError(f"several columns are named {', '.join(doubled)}: use AS")
    objects = (json.dumps(dict(zip(names, map(json_value, row), strict=True))) for row in rows)
    yield from _json_lines(head, objects) if output == "json" else _yaml_lines(head, objects)


def _json_lines(head: Mapping[str, Any], objects: Iterable[str]) -> Iterator[str]:
    yield json.dumps(head, indent=2)[:-2] + ","
    yield '  "rows": ['
    before = None
    for each in objects:
        if before is not None:
            yield f"    {before},"
        before = each
    if before is not None:
        yield f"    {before}"
    yield "  ]"
    yield "}"


def _yaml_lines(head: Mapping[str, Any], objects: Iterable[str]) -> Iterator[str]:
    """Yields each row as an item of a list, in the flow style, which is that of JSON."""
    import yaml

    yield yaml.safe_dump(dict(head), sort_keys=False, allow_unicode=True).rstrip("\n")
    is_empty = True
    for each in objects:
        if is_empty:
            yield "rows:"
            is_empty = False
        yield f"- {each}"
    if is_empty:
        yield "rows: []"


def _pages(names: Sequence[str], rows: Iterable[Row]) -> Iterator[str]:
    """Yields a table for people, with its heads again before each page of rows."""
    left = iter(rows)
    page: list[Row] = list(islice(left, PAGE_ROWS))
    yield table(names, [[_cell(value) for value in row] for row in page])
    while page := list(islice(left, PAGE_ROWS)):
        yield table(names, [[_cell(value) for value in row] for row in page])


def _cell(value: Any) -> Any:
    """Returns a value as a cell: numbers stay, so that they stand to the right."""
    if value is None:
        return "NULL"
    if isinstance(value, bool | float) or not isinstance(value, int):
        return one_line(_text(value))
    return value


def _text(value: Any) -> str:
    from aggregator.upsert.answer_columns import json_value

    plain = json_value(value)
    return plain if isinstance(plain, str) else json.dumps(plain)
