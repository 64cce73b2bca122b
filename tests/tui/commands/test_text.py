"""Tables line up in one row a line, and unknown is ?."""

from tui.commands.text import instant, joined, table

HOSTILE = "a\r\nb\x1b[2J\x9bc\u202ed\u2028e"
SHOWN = "a\\r\\nb\\x1b[2J\\x9bc\\u202ed\\u2028e"


def test_numbers_stand_to_the_right_and_unknown_is_a_question_mark() -> None:
    assert table(("NAME", "LAG"), [("a", 5), ("long name", None), ("b", 1234)]) == (
        "NAME        LAG\na             5\nlong name     ?\nb          1234"
    )


def test_no_rows_leave_the_heads() -> None:
    assert table(("A", "B"), []) == "A  B"


def test_a_cell_is_one_line_without_control_characters_and_columns_still_line_up() -> None:
    assert table(("GROUP", "LAG"), [(HOSTILE, 5), ("b", 6)]).splitlines() == [
        "GROUP".ljust(len(SHOWN)) + "  LAG",
        f"{SHOWN}    5",
        "b".ljust(len(SHOWN)) + "    6",
    ]


def test_a_row_stays_one_line_however_wide_it_is() -> None:
    wide = "a b " * 500
    assert table(("X", "Y"), [(wide, 1)]).splitlines()[1] == f"{wide}  1"


def test_brackets_and_colons_in_a_cell_are_no_markup() -> None:
    text = "[red]orders[/red] :smile: [1, 2]"
    assert table(("TOPIC",), [(text,)]) == f"TOPIC\n{text}"


def test_a_remark_is_one_line_without_control_characters() -> None:
    assert joined([f"parked: {HOSTILE}", "problem"]) == f"parked: {SHOWN}\nproblem"


def test_an_instant_is_formatted_in_utc_and_an_impossible_one_as_a_number() -> None:
    assert instant(0) == "1970-01-01T00:00:00Z"
    assert instant(None) is None
    assert instant(2**52) == f"{2**52} ms"
    assert instant(10**400) == f"{10**400} ms"
