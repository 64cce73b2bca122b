"""Tables of docs/simulation.md, from the results of `python -m bench.mutations`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.mutations import SEEDS_MAX, Mutation, mutations
from bench.simulation_results import read_results

PAGE = Path(__file__).parents[1] / "docs" / "simulation.md"
BEGIN, END = "<!-- mutations -->\n", "<!-- /mutations -->"
RULES = "ARCHITECTURE.md#invariants"
HEADER = f"""\
| [rule]({RULES}) | what is taken out | family | starts that find it | median seeds | most seeds | \
simulated hours |
|---|---|---|---|---|---|---|
"""
Row = Mapping[str, Any]


def table(rows: Iterable[Row]) -> str:
    """Returns the measured mutations as a table."""
    return HEADER + "".join(
        f"| {row['rule']} | {row['name']} | {row['family']} | {row['found']} of {row['starts']} | "
        f"{_seeds(row['median_seeds'])} | {row['seeds_max']} | {row['virtual_hours']:.2f} |\n"
        for row in rows
    )


def legend() -> str:
    """Returns the meaning of the columns."""
    return f"""\
A start plays seeds of its own until a history is wrong, {SEEDS_MAX} at most. *Seeds* count that
history too, and the median is that of all starts. *Hours* are the virtual time of the histories of
all starts that were right.
"""


def unmeasured(rows: Iterable[Row], known: Sequence[Mutation]) -> str:
    """Returns the mutations that are not in the table; an empty text if there are none."""
    measured = {(row["family"], row["name"]) for row in rows}
    left = [each for each in known if (each.family, each.name) not in measured]
    if not left:
        return ""
    rules = sorted({(each.rule, each.family) for each in left})
    lines = (
        f"- rule {rule}, `{family}`: "
        + "; ".join(each.name for each in left if (each.rule, each.family) == (rule, family))
        for rule, family in rules
    )
    return "\nNot measured:\n\n" + "".join(f"{line}\n" for line in lines)


def with_tables(page: str, rows: Sequence[Row], known: Sequence[Mutation]) -> str:
    """Returns a page with the tables in their place."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    tables = f"{legend()}\n{table(rows)}{unmeasured(rows, known)}"
    return f"{before}{BEGIN}{tables}{END}{after}"


def _seeds(median: float | None) -> str:
    return "-" if median is None else f"{median:g}"


def main() -> None:
    rows = read_results().get("mutations", [])
    PAGE.write_text(with_tables(PAGE.read_text(), rows, mutations()))


if __name__ == "__main__":
    main()
