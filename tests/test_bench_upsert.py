"""Figures of upsert tables that are not measured but calculated: growth, and sizes of a state."""

import json
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import table, upsert_growth, upsert_table
from bench.table_cells import README
from bench.upsert_growth import estimate, linear, linearithmic
from bench.upsert_results import UpsertResult
from bench.upsert_state import newest

KEYS = (100_000, 1_000_000, 5_000_000)


@given(st.floats(0, 1e6), st.floats(1e-6, 1e3))
def test_a_total_that_is_a_line_is_extrapolated_without_error(start: float, each: float) -> None:
    found = estimate(KEYS, [start + each * keys for keys in KEYS])
    assert found.value == pytest.approx(start + each * 1e9, rel=1e-6)
    assert found.error == pytest.approx(0, abs=1e-5)
    assert found.misfit == pytest.approx(0, abs=1e-5)


def test_the_error_of_a_fit_is_that_of_the_slope_where_the_constant_is_little() -> None:
    # Through relative errors of 1 %, the slope is as uncertain as their mean.
    parts = (1.01, 0.99, 1.01, 0.99)
    keys = (1_000_000, 2_000_000, 4_000_000, 8_000_000)
    found = estimate(keys, [each * part for each, part in zip(keys, parts, strict=True)])
    assert found.error is not None and 0.004 < found.error < 0.02
    # Two points are on a line, whatever their errors.
    assert estimate((1, 2), (3.0, 5.0)).error is None


def test_small_totals_weigh_as_much_as_large_ones_by_their_part() -> None:
    found = estimate(KEYS, [1e6 + 100 * keys for keys in KEYS[:2]] + [1e6 + 101 * KEYS[2]])
    assert found.misfit < 0.01


def test_a_total_that_grows_by_n_log_n_misfits_a_line() -> None:
    totals = [float(total) for total in linearithmic(np.array(KEYS, np.float64))]
    by_n, by_n_log_n = estimate(KEYS, totals, linear), estimate(KEYS, totals, linearithmic)
    assert by_n_log_n.misfit == pytest.approx(0, abs=1e-9) and by_n.misfit > 0.01
    assert by_n_log_n.value > 1.2 * by_n.value


def test_the_table_of_growth_has_a_line_of_each_result_and_names_what_is_missed() -> None:
    rows = [
        UpsertResult(case="scale", system="s", query=query, keys=keys, bytes_per_key=size)
        for query, keys, size in (
            ("state", 100_000, 150.0),
            ("state", 1_000_000, 90.0),
            ("state, merged", 100_000, 121.0),
            ("state, merged", 1_000_000, 80.0),
        )
    ]
    rows.append(
        UpsertResult(
            case="scale",
            system="s",
            query="settle 60000",
            keys=100_000,
            unsettled_events=60_000,
            seconds={"median": 0.25},
            cpu_seconds_per_million=1.5,
        )
    )
    found = {upsert_table.identity(row.to_json()): row.to_json() for row in rows}
    assert len(found) == len(rows)
    lines = list(upsert_growth.table(found))
    assert "| 100,000 keys | 1,000,000 keys |" in lines[0]
    [state] = [line for line in lines if line.startswith("| state, as RocksDB has left it")]
    assert "| bytes per key | 150 | 90 | 83.3 GB | - | 0.0% |" in state
    [settle, _] = [line for line in lines if line.startswith("| settle of 60 000 ends")]
    assert "| CPU s | 0.09 | - | - |" in settle
    told = list(upsert_growth.verdicts(found))
    assert told[0] == (
        "- scale: state of 100,000 keys: 150 as RocksDB has left it **missed**,"
        " 121 bytes per key with its levels merged, aim at most 120 **missed**."
    )
    assert "1,000,000 keys: 90 as RocksDB has left it met, 80 bytes per key with" in told[1]
    assert len(told) == 3 and "1e9 keys" in told[2]


def test_results_without_the_case_have_no_table_of_growth() -> None:
    assert list(upsert_growth.table({})) == list(upsert_growth.verdicts({})) == []


def test_files_of_older_snapshots_are_no_part_of_a_state(tmp_path) -> None:
    assert newest(tmp_path) is None
    for version, files in ((9, ["a", "b"]), (31, ["b", "c"])):
        listed = [
            {"localFileName": f"{name}.sst", "dfsSstFileName": f"{name}-1.sst", "sizeBytes": 100}
            for name in files
        ]
        with zipfile.ZipFile(tmp_path / f"{version}.zip", "w") as archive:
            archive.writestr("metadata", "v1\n" + json.dumps({"sstFiles": listed}))
    found = newest(tmp_path)
    assert found is not None and found.version == 31
    assert [name for _, name, _ in found.files] == ["b-1.sst", "c-1.sst"]


def test_tables_of_the_page_are_those_of_the_results() -> None:
    page = README.read_text()
    for tables in table.ALL:
        assert tables.text(json.loads(tables.file.read_text())) in page, tables.name
