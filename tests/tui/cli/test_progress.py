"""Progress display: a bar on a terminal, a line every few seconds elsewhere."""

import io

from tui.cli.progress import BAR_CHARACTERS, LINE_SECONDS, Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_bar_in_one_line():
    stream = Terminal()
    progress = Progress(stream)
    for left in (100, 25, 0):
        progress.show("arriving", left, f"missing: {left}", now_seconds=0.0)
    progress.end()
    first, second, third = stream.getvalue().split("\r\x1b[K")[1:]
    assert first == f"arriving [{'.' * BAR_CHARACTERS}]   0%  missing: 100"
    assert second.startswith("arriving [######################........]  75%")
    assert third == f"arriving [{'#' * BAR_CHARACTERS}] 100%  missing: 0\n"


def test_a_log_gets_a_line_every_few_seconds():
    stream = io.StringIO()
    progress = Progress(stream)
    for now_seconds in (0.0, LINE_SECONDS / 2, LINE_SECONDS):
        progress.show("arriving", 3, f"at {now_seconds:g}", now_seconds)
    progress.end()
    assert stream.getvalue() == "arriving: at 0\narriving: at 5\n"


def test_nothing_to_wait_for_is_a_full_bar():
    stream = Terminal()
    Progress(stream).show("arriving", 0, "nothing", 0.0)
    assert "100%" in stream.getvalue()


def test_each_stage_has_a_bar_of_its_own_and_ends_the_one_before():
    stream = Terminal()
    progress = Progress(stream)
    progress.show("stopping in west", 1, "members: orders", 0.0)
    progress.show("arriving in east", 6, "missing: 6 records of west", 0.0)
    progress.end()
    first, second, end = stream.getvalue().split("\n")
    assert first.endswith("members: orders") and "arriving in east [..." in second
    assert end == ""


def test_a_new_stage_is_printed_at_once_without_a_terminal_as_well():
    stream = io.StringIO()
    progress = Progress(stream)
    progress.show("stopping in west", 1, "members: orders", 0.0)
    progress.show("arriving in east", 6, "missing: 6 records of west", 0.1)
    assert stream.getvalue().splitlines() == [
        "stopping in west: members: orders",
        "arriving in east: missing: 6 records of west",
    ]
