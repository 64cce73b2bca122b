"""Output of a job: steps, other lines, and lines that are not complete."""

from tui.steering.job_output import OutputLine, last_lines, output_line, read_lines, result_lines

STEP = '{"at_ms": 1700000000000, "stage": "apply", "left": 2, "text": "wrote \\u001b[1m"}'


def test_a_step_is_read_and_any_other_line_is_text() -> None:
    step = output_line(STEP)
    assert step == OutputLine(text="wrote \x1b[1m", at_ms=1700000000000, stage="apply", left=2)
    for line in ("sluice: west does not answer", "{", "[]", '{"at_ms": "x"}', "{" * 100_000):
        assert output_line(line) == OutputLine(text=line)
    assert output_line(STEP.replace("2,", "null,")).left is None


def test_an_incomplete_line_waits_for_its_end() -> None:
    first = read_lines(b"one\ntw", 10, is_whole=False)
    assert [line.text for line in first.lines] == ["one"]
    assert first.offset == 14
    second = read_lines(b"two", 14, is_whole=True)
    assert ([line.text for line in second.lines], second.offset) == (["two"], 17)


def test_the_last_lines_are_read_without_steps_being_json() -> None:
    content = f"a\nb\n\n{STEP}\n\xff".encode("latin-1")
    assert last_lines(content, 3) == ["b", "wrote \x1b[1m", "\ufffd"]


def test_a_result_is_a_line_for_each_value_and_row() -> None:
    text = """{"plan_id": "p1", "done": null, "checks": [],
               "groups": [{"group": "billing", "state": "written", "positions": [1, 2]}]}"""
    assert result_lines(text, 9) == [
        "plan_id: p1",
        "done: ?",
        "checks: none",
        "groups: group billing, state written, positions 2 rows",
    ]
    assert result_lines("[1, 2, 3]", 2) == ["1", "... 2 lines more"]


def test_a_result_that_is_no_json_is_shown_as_it_is() -> None:
    assert result_lines("done\n\nindeed\n", 9) == ["done", "indeed"]
    assert result_lines("{" * 100_000, 9) == ["{" * 100_000]
    assert result_lines("", 9) == []
