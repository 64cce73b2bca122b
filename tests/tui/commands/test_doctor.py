"""`sluice doctor` without servers."""

from pathlib import Path

import pytest

from tui.commands.doctor import exactness_text, exactness_values
from tui.commands.exit_codes import ExitCode
from tui.facts.exactness import Diagnosis, DiagnosisKind, Exactness, Verdict
from tui.program import run

REFERENCE = str(Path(__file__).parents[3] / "deploy" / "appliance.toml")
DOUBLED = Diagnosis(
    Verdict.HAPPENED,
    DiagnosisKind.DOUBLED,
    "air.t on one:9000",
    "t-0: 2 rows too many",
    "keep one of each",
)
CLOCK = Diagnosis(
    Verdict.POSSIBLE, DiagnosisKind.CLOCK, "one:9000", "15 s ahead", "synchronise the clocks"
)
FOUND = Exactness("east", (DOUBLED, CLOCK), ("east aggregate: away",))


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["--config", REFERENCE, "--region", "nowhere"], "no region 'nowhere'; known: "),
        (["--config", REFERENCE], "--region"),
    ],
)
def test_a_mistake_is_named_before_a_server_is_contacted(
    arguments: list[str], what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["doctor", "exactness", *arguments]) == ExitCode.USAGE
    said = capsys.readouterr()
    assert what in said.err
    assert said.out == ""


def test_diagnoses_are_a_table_with_the_problems_below(assert_snapshot):
    assert_snapshot(exactness_text(FOUND), "doctor_exactness")


def test_an_installation_without_a_diagnosis_is_ok():
    assert exactness_text(Exactness("east", (), ())) == "ok: east"
    assert exactness_values(Exactness("east", (), ()))["ok"] is True


def test_values_have_each_diagnosis():
    values = exactness_values(FOUND)
    assert values["ok"] is False
    assert values["problems"] == ["east aggregate: away"]
    assert values["diagnoses"][1] == {
        "verdict": "possible",
        "kind": "clocks",
        "where": "one:9000",
        "text": "15 s ahead",
        "repair": "synchronise the clocks",
    }
