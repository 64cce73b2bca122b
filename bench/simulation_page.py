"""Table of docs/simulation.md, from the results of `python -m bench.mutations`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bench.simulation import kept

PAGE = Path(__file__).parents[1] / "docs" / "simulation.md"
BEGIN, END = "<!-- mutations -->\n", "<!-- /mutations -->"


def table(rows: Iterable[Mapping[str, Any]]) -> str:
    """Returns the mutations as a table."""
    lines = ["| rule | mutation | family | found | seeds | at most |", "|---|---|---|---|---|---|"]
    for row in rows:
        median = row["median_seeds"]
        seeds = "-" if median is None else f"{median:g}"
        lines.append(
            f"| {row['rule']} | {row['name']} | {row['family']} | "
            f"{row['found']} of {row['starts']} | {seeds} | {row['seeds_max']} |"
        )
    return "\n".join(lines) + "\n"


def with_table(page: str, rows: Iterable[Mapping[str, Any]]) -> str:
    """Returns a page with the table in its place."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{table(rows)}{END}{after}"


def main() -> None:
    PAGE.write_text(with_table(PAGE.read_text(), kept().get("mutations", [])))


if __name__ == "__main__":
    main()
