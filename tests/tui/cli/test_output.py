"""Output of commands: tables line up, and unknown is ?."""

import json

import pytest
import yaml

from replicator.config.topology import UnknownRegion
from tui.cli.exit_codes import ExitCode
from tui.cli.output import config_words, emit, joined, say, table
from tui.program import run

HOSTILE = "a\r\nb\x1b[2J\x9bc\u202ed\u2028e"
SHOWN = "a\\r\\nb\\x1b[2J\\x9bc\\u202ed\\u2028e"


def test_numbers_stand_to_the_right_and_unknown_is_a_question_mark() -> None:
    assert table(("NAME", "LAG"), [("a", 5), ("long name", None), ("b", 1234)]) == (
        "NAME        LAG\na             5\nlong name     ?\nb          1234"
    )


def test_no_rows_leave_the_heads() -> None:
    assert table(("A", "B"), []) == "A  B"


@pytest.mark.parametrize(
    ("output", "text"),
    [("json", '{\n  "lag": null\n}\n'), ("yaml", "lag: null\n"), ("table", "LAG ?\n")],
)
def test_each_form_prints_the_same_value(
    output: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    emit(output, {"lag": None}, lambda: "LAG ?")
    assert capsys.readouterr().out == text


def test_a_cell_is_one_line_without_control_characters_and_columns_still_line_up() -> None:
    assert table(("GROUP", "LAG"), [(HOSTILE, 5), ("b", 6)]).splitlines() == [
        "GROUP".ljust(len(SHOWN)) + "  LAG",
        f"{SHOWN}    5",
        "b".ljust(len(SHOWN)) + "    6",
    ]


def test_a_remark_is_one_line_without_control_characters() -> None:
    assert joined([f"parked: {HOSTILE}", "problem"]) == f"parked: {SHOWN}\nproblem"


def test_what_is_said_on_stderr_is_one_line_without_control_characters(
    capsys: pytest.CaptureFixture[str],
) -> None:
    say(HOSTILE)
    assert capsys.readouterr().err == f"sluice: {SHOWN}\n"


def test_text_for_people_has_no_control_characters_but_the_ends_of_its_lines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    emit("table", None, lambda: "one\ntwo \x1b[2J\u202e")
    assert capsys.readouterr().out == "one\ntwo \\x1b[2J\\u202e\n"


@pytest.mark.parametrize(("output", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_programs_get_every_character(output, read, capsys) -> None:
    emit(output, {"group": HOSTILE}, lambda: "")
    assert read(capsys.readouterr().out) == {"group": HOSTILE}


@pytest.mark.parametrize(
    "command", [["balance", "show"], ["offsets", "show"], ["offsets", "rebuild"]]
)
@pytest.mark.parametrize(
    ("before", "behind", "used", "words"),
    [
        (["--config", "typed.toml"], [], "typed.toml", " --config typed.toml"),
        ([], ["--config", "typed.toml"], "typed.toml", " --config typed.toml"),
        (["--config", "a.toml"], ["--config", "typed.toml"], "typed.toml", " --config typed.toml"),
        ([], [], "environment.toml", ""),
    ],
)
def test_a_typed_configuration_is_used_and_repeated_wherever_it_was_typed(
    monkeypatch: pytest.MonkeyPatch,
    command: list[str],
    before: list[str],
    behind: list[str],
    used: str,
    words: str,
) -> None:
    found = []

    def load(path: str) -> None:
        found.append((path, config_words()))
        raise UnknownRegion("enough")

    monkeypatch.setattr("replicator.config.topology.load", load)
    monkeypatch.setenv("SLUICE_CONFIG", "environment.toml")
    group, name = command
    assert run([group, *before, name, *behind, "--region", "east"]) == ExitCode.USAGE
    assert found == [(used, words)]
