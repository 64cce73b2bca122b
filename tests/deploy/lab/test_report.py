"""The demo's table shows the results, and faults are also described in words."""

import io

from rich.console import Console

from deploy.lab.compare import Comparison, RouteVerdict
from deploy.lab.progress import TransferProgress
from deploy.lab.report import Row, rate, table, total, wrong

RIGHT = RouteVerdict(sent=1000, arrived=1000)


def row(verdict=RIGHT, *, done_at=3.0):
    stretch = TransferProgress(expected=1000, arrived=1000, began_at=1.0, done_at=done_at)
    return Row("west>east", "flights", verdict, size_bytes=5_000_000, stretch=stretch)


def printed(rows):
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(table(rows))
    return console.export_text().split()


def test_a_right_row_shows_zeros_and_a_rate():
    assert printed([row()])[-9:] == [
        *("west>east", "flights", "1,000", "1,000"),
        *("0", "0", "0", "0", "2.5"),
    ]


def test_faults_are_shown_by_kind():
    verdict = RouteVerdict(sent=1000, arrived=990, lost=9, duplicated=8, reordered=7, changed=1)
    assert printed([row(verdict)])[-7:-1] == ["1,000", "990", "9", "8", "7", "1"]


def test_what_is_over_before_it_could_be_timed_has_no_rate():
    assert rate(row(done_at=1.2)) == "-"


def test_the_total_of_a_region_counts_from_its_first_record_to_its_last():
    assert total([row(), row(done_at=5.0)], "east") == (
        "into east: 2,000 records, 10 MB in 4.0 s = 500/s, 2.5 MB/s"
    )


def test_foreign_records_are_wrong_although_no_route_lost_any():
    comparison = Comparison({"west>east": RouteVerdict(1, 1)}, foreign=2, examples=("foreign: x",))
    assert wrong(comparison) == ["2 foreign records", "foreign: x"]
    assert wrong(Comparison({"west>east": RouteVerdict(1, 1)})) == []
