"""README.md: its comparison is made from the results of the benchmarks."""

from __future__ import annotations

from pathlib import Path

from bench.comparison import BEGIN, END, written

README = (Path(__file__).parents[1] / "README.md").read_text()


def test_the_comparison_is_what_the_results_say():
    shown = README[README.index(BEGIN) : README.index(END) + len(END)]
    assert shown == written(), "run: python -m bench.comparison"
