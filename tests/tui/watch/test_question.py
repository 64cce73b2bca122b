"""Answers to questions: what was never answered is None."""

from tui.watch.question import NO_ANSWER, Answer, Answers, Key

TOPICS, ENDS = Key("west regional", "topics"), Key("west regional", "log ends")


def test_a_question_that_was_never_asked_has_no_answer() -> None:
    assert Answers({}).answer(TOPICS) == NO_ANSWER
    assert Answers({}).value(TOPICS) is None
    assert Answers({}).problem("west regional") is None


def test_the_first_problem_of_a_server_is_its_problem() -> None:
    answers = Answers({TOPICS: Answer([], 1.0), ENDS: Answer(None, None, "refused", 2.0)})
    assert answers.value(TOPICS) == []
    assert answers.problem("west regional") == "refused"
    assert answers.problem("east regional") is None
