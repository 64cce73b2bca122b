"""Output of commands: each format prints the same value, and remarks go to stderr."""

import json

import pytest
import yaml

from tui.commands.output import emit, say

HOSTILE = "a\r\nb\x1b[2J\x9bc\u202ed\u2028e"
SHOWN = "a\\r\\nb\\x1b[2J\\x9bc\\u202ed\\u2028e"


@pytest.mark.parametrize(
    ("output", "text"),
    [("json", '{\n  "lag": null\n}\n'), ("yaml", "lag: null\n"), ("table", "LAG ?\n")],
)
def test_each_form_prints_the_same_value(
    output: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    emit(output, {"lag": None}, lambda: "LAG ?")
    assert capsys.readouterr().out == text


def test_each_remark_on_stderr_is_one_line_without_control_characters(
    capsys: pytest.CaptureFixture[str],
) -> None:
    say(HOSTILE, "two")
    say()
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", f"sluice: {SHOWN}\nsluice: two\n")


def test_text_for_people_has_no_control_characters_but_the_ends_of_its_lines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    emit("table", None, lambda: "one\ntwo \x1b[2J\u202e")
    assert capsys.readouterr().out == "one\ntwo \\x1b[2J\\u202e\n"


@pytest.mark.parametrize(("output", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_programs_get_every_character(output, read, capsys) -> None:
    emit(output, {"group": HOSTILE}, lambda: "")
    assert read(capsys.readouterr().out) == {"group": HOSTILE}
