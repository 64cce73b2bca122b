"""Part of a snapshot: stale after three cadences, or without any answer."""

from tui.facts.part import Part, each_once


def part(**fields: object) -> Part:
    return Part(server="west regional", about="topics", cadence_seconds=10.0, **fields)


def test_an_answer_is_stale_after_three_cadences() -> None:
    assert not part(asked_at=100.0).is_stale(130.0)
    assert part(asked_at=100.0).is_stale(130.1)


def test_no_answer_at_all_is_stale() -> None:
    assert part().is_stale(0.0)


def test_a_question_that_is_asked_at_once_again_is_stale_after_three_seconds() -> None:
    often = Part(server="east Redis", about="reports", asked_at=100.0, cadence_seconds=0.1)
    assert not often.is_stale(102.9)
    assert often.is_stale(103.1)


def test_a_missing_right_is_no_silence() -> None:
    assert part(problem="west regional: lacks the right: topics").lacks_right
    assert not part(problem="west regional: no answer within 5 s").lacks_right
    assert not part().lacks_right


def test_a_problem_is_told_once_whatever_goes_on_meanwhile() -> None:
    refused = "Redis at redis://east: refused; daemons go on without it"
    other = "Redis at redis://east: refused; carrying goes on without it"
    assert each_once([refused, None, other, "east aggregate: refused", refused]) == (
        refused,
        "east aggregate: refused",
    )
