"""Tables of docs/simulation.md, from the results of `bench.mutations` and `bench.seeds`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from bench.mutations import SEEDS_MAX, Mutation, mutations
from bench.seeds import History, Search, found_by, read_search
from bench.simulation_results import Results, read_results
from tests.world.played_seeds import read_checked_seeds

PAGE = Path(__file__).parents[1] / "docs" / "simulation.md"
RULES = "invariants.md"
HEADER = f"""\
| [rule]({RULES}) | what is taken out | family | starts that find it | median seeds | most seeds | \
simulated hours |
|---|---|---|---|---|---|---|
"""


def table(rows: Iterable[Results]) -> str:
    """Returns the measured mutations as a table."""
    return HEADER + "".join(
        f"| {row['rule']} | {row['name']} | {row['family']} | {row['found']} of {row['starts']} | "
        f"{_seeds(row['median_seeds'])} | {row['seeds_max']} | {_hours(row)} |\n"
        for row in rows
    )


def legend() -> str:
    """Returns the meaning of the columns."""
    return f"""\
A start plays seeds of its own until a history is wrong, {SEEDS_MAX} at most. *Seeds* count that
history too, and the median is that of all starts. *Hours* are the virtual time of all starts;
with a +, that of the wrong histories comes on top, which was not recorded.
"""


def unmeasured(rows: Iterable[Results], known: Sequence[Mutation]) -> str:
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
    return "\nMutations without twenty starts so far:\n\n" + "".join(f"{line}\n" for line in lines)


def budgets(search: Search, seeds: Sequence[History], known: Sequence[Mutation]) -> str:
    """Returns what `make check` finds, and what needs more seeds.

    Args:
        search: by `python -m bench.seeds`.
        seeds: that `make check` plays.
    """
    table = {(each.family, each.name) for each in known}
    found = found_by(seeds, search) & table
    searched = search.searched() & table
    some = {rule for rule, wrong in search.found.items() if wrong} & table
    seconds = sum(search.costs[each].cpu_seconds for each in seeds)
    minutes = sum(search.costs[each].virtual_seconds for each in seeds) / 60
    families = {family for family, _ in seeds}
    lists = (
        ("Found by further seeds of `python -m bench.seeds` alone", some - found),
        ("Found by none of its seeds", searched - some),
        ("Not searched", table - searched),
    )
    return (
        f"`make check` plays {len(seeds)} histories of {len(families)} families, {minutes:.0f} "
        f"virtual minutes in {seconds:.0f} CPU seconds.\nThey find {len(found)} of the "
        f"{len(table)} mutations below ({100 * len(found) / len(table):.0f} %).\n"
        + "".join(_listed(title, rules) for title, rules in lists if rules)
    )


def _listed(title: str, rules: Iterable[tuple[str, str]]) -> str:
    lines = (f"- `{family}`: {name}\n" for family, name in sorted(rules))
    return f"\n{title}:\n\n" + "".join(lines)


def runs_played(results: Results) -> str:
    """Returns what all runs together have played."""
    played, turns = results["runs"], results["steps_of_all_runs"] / 1e6
    histories = sum(sum(run["histories"].values()) for run in played)
    last = max(run["last_seed"] for run in played)
    return (
        f"{len(played)} runs of `python -m bench.simulation` have played {histories} histories, of "
        f"seeds 1 to {last}:\n{turns:.0f} million turns in "
        f"{results['virtual_hours_of_all_runs']:.1f} hours of virtual time.\n"
    )


def with_results(page: str, results: Results, known: Sequence[Mutation]) -> str:
    """Returns a page with the results in their places."""
    rows = results["mutations"]
    checked = read_checked_seeds().seeds
    page = _with(page, "budgets", budgets(read_search(), checked, known))
    page = _with(page, "runs", runs_played(results))
    return _with(page, "mutations", f"{legend()}\n{table(rows)}{unmeasured(rows, known)}")


def _with(page: str, name: str, text: str) -> str:
    """Returns a page with a text between the comments of a name."""
    begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
    before, _, rest = page.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}{text}{end}{after}"


def _seeds(median: float | None) -> str:
    return "-" if median is None else f"{median:g}"


def _hours(row: Results) -> str:
    wrong = row.get("wrong_virtual_hours")
    return (
        f"{row['virtual_hours']:.2f}+" if wrong is None else f"{row['virtual_hours'] + wrong:.2f}"
    )


def main() -> None:
    PAGE.write_text(with_results(PAGE.read_text(), read_results(), mutations()))


if __name__ == "__main__":
    main()
