"""Export: CSV, JSON, SVG without addresses of other hosts."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.tui.console import snapshots
from tui.console.built_page import BuiltPage, built
from tui.console.export import (
    as_csv,
    as_json,
    file_name,
    in_sheet,
    value_of,
    without_fonts,
    written,
)
from tui.console.view_state import ViewState
from tui.pages.overview import OverviewPage
from tui.pages.page import Cell, Column


def view(**changes) -> BuiltPage:
    view = replace(ViewState(page=OverviewPage()), **changes)
    return built(view, snapshots.region_gone(), snapshots.NOW)


def test_csv_has_the_shown_rows_of_each_section_below_its_titles():
    rows = list(csv.reader(io.StringIO(as_csv(view(filter="west>east")))))
    assert rows[0][:2] == ["section", "REGION"]
    assert ["routes", "west>east", "WAITS"] in [row[:3] for row in rows]
    assert not any("east>east" in row for row in rows)


def test_json_has_null_for_unknown():
    found = json.loads(as_json(view()))
    routes = {row["ROUTE"]: row for row in found["sections"]["routes"]}
    assert routes["west>east"]["LAG"] is None
    assert routes["east>east"]["LAG"] == 24
    assert routes["east>east"]["MB/S"] == pytest.approx(1.692)
    assert routes["east>east"]["STATE"] == "OK"


@pytest.mark.parametrize(
    ("cell", "is_right", "value"),
    [
        (Cell("47.1k", sort=47_123), True, 47_123),
        (Cell("5:02", sort=302.5), True, 302.5),
        (Cell("?", sort=None), True, None),
        (Cell("-", sort=float("inf")), True, "-"),
        (Cell("any", sort=1e18), True, "any"),
        (Cell("BEHIND", sort=4), False, "BEHIND"),
        (Cell("12 MiB free", sort=0.0), False, "12 MiB free"),
    ],
)
def test_a_number_is_exported_in_full_and_a_text_as_it_is(cell, is_right, value):
    assert value_of(cell, Column("X", 5, is_right=is_right)) == value


@pytest.mark.parametrize("text", ['=HYPERLINK("http://x")', "+1+cmd|' /C calc'!A0", "-1+1", "@SUM"])
def test_a_text_is_no_formula_in_a_spreadsheet(text):
    assert in_sheet(text) == f"'{text}"


@pytest.mark.parametrize("text", ["-", "-3.4k/s", "+120/s", "-12", "orders-17", ""])
def test_numbers_with_a_sign_stay_numbers(text):
    assert in_sheet(text) == text


def test_fonts_of_other_hosts_are_left_out():
    svg = '<style>@font-face {\n src: url("https://host/a.woff2");\n }\n .a { fill: red }</style>'
    assert without_fonts(svg) == "<style>.a { fill: red }</style>"


def test_a_file_is_never_written_over_and_another_folder_is_taken(tmp_path: Path):
    name = file_name("routes", snapshots.NOW, "csv")
    assert name == "sluice-routes-20261121-140231.csv"
    missing = tmp_path / "missing"
    first = written((missing, tmp_path), name, "a")
    second = written((missing, tmp_path), name, "b")
    assert (first.read_text(), second.read_text()) == ("a", "b")
    assert second.name == "sluice-routes-20261121-140231-2.csv"
    with pytest.raises(OSError, match="missing"):
        written((missing,), name, "c")
