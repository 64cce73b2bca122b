"""Output of `sluice doctor exactness`."""

from tui.commands.views.exactness_view import as_text, as_values
from tui.facts.exactness import Diagnosis, Kind, Verdict
from tui.facts.watch.exactness_probe import Exactness

DOUBLED = Diagnosis(
    Verdict.HAPPENED, Kind.DOUBLED, "air.t on one:9000", "t-0: 2 rows too many", "keep one of each"
)
CLOCK = Diagnosis(Verdict.POSSIBLE, Kind.CLOCK, "one:9000", "15 s ahead", "synchronise the clocks")
FOUND = Exactness("east", (DOUBLED, CLOCK), ("east aggregate: away",))


def test_diagnoses_are_a_table_with_the_problems_below(assert_snapshot):
    assert_snapshot(as_text(FOUND), "exactness")


def test_an_installation_without_a_diagnosis_is_ok():
    assert as_text(Exactness("east", (), ())) == "ok: east"
    assert as_values(Exactness("east", (), ()))["ok"] is True


def test_values_have_each_diagnosis():
    values = as_values(FOUND)
    assert values["ok"] is False
    assert values["problems"] == ["east aggregate: away"]
    assert values["diagnoses"][1] == {
        "verdict": "possible",
        "kind": "clocks",
        "where": "one:9000",
        "text": "15 s ahead",
        "repair": "synchronise the clocks",
    }
