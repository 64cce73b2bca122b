"""Steps of a long action."""

from collections.abc import Generator

from tui.orders.steps import run_to_end


def test_each_step_is_reported_and_the_result_is_returned():
    def steps() -> Generator[str, None, int]:
        yield "looked again"
        yield "wrote the offsets of orders"
        return 7

    reported: list[str] = []
    assert run_to_end(steps(), reported.append) == 7
    assert reported == ["looked again", "wrote the offsets of orders"]
