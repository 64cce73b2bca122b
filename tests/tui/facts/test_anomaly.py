"""Anomalies: rows of the verifier's board as values."""

from typing import Any

import pytest

from tui.facts.anomaly import ENTRY_CHARACTERS_MAX, Anomaly, anomaly_of

ROW: dict[str, Any] = {
    "cluster": "west regional",
    "of": "feed flights",
    "topic": "flights",
    "partition": 3,
    "at_ms": 1_795_269_700_000,
    "findings": [
        {
            "kind": "gap",
            "weight": "anomaly",
            "table": "departures",
            "begin": 10,
            "end": 25,
            "text": "records were neither loaded nor set aside",
        }
    ],
    "before": None,
    "after": {"offset": 30, "at_ms": 1_795_269_700_000, "metadata": "x" * 2000},
}


def anomaly(**changes: object) -> Anomaly:
    return anomaly_of("west", {**ROW, **changes})


def test_a_row_of_the_board_becomes_a_value_with_both_entries():
    found = anomaly()
    assert (found.region, found.feed, found.route, found.partition) == ("west", "flights", None, 3)
    text = "gap: table departures: records were neither loaded nor set aside [10, 25)"
    assert [str(each) for each in found.findings] == [text]
    assert found.before is None
    assert found.after is not None and found.after.startswith("offset 30 at 1795269700000 ms: xxx")
    assert len(found.after) == ENTRY_CHARACTERS_MAX + len("...")


def test_an_entry_of_a_ledger_belongs_to_its_route():
    found = anomaly(of="route west>east")
    assert (found.feed, found.route) == (None, "west>east")


@pytest.mark.parametrize("changes", [{"findings": [{}]}, {"at_ms": None}, {"after": 7}])
def test_a_row_of_another_form_is_refused(changes):
    with pytest.raises(ValueError, match="another form|int"):
        anomaly(**changes)


def test_the_feed_of_an_upsert_table_is_known():
    found = anomaly(of="table flights.eu.status")
    assert (found.feed, found.route) == ("flights.eu", None)
