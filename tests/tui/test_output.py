"""Tables line up; unknown is ?."""

import pytest

from tui.output import emit, table


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
