"""Answers to questions: what was never answered is None."""

from tui.facts.watch.question import NO_ANSWER, Answer, Answers, Key

TOPICS, ENDS = Key("west regional", "topics"), Key("west regional", "log ends")


def test_a_question_that_was_never_asked_has_no_answer() -> None:
    assert Answers({}).answer(TOPICS) == NO_ANSWER
    assert Answers({}).value(TOPICS) is None


def test_a_question_has_its_own_answer() -> None:
    answers = Answers({TOPICS: Answer([], 1.0), ENDS: Answer(None, None, "refused", 2.0)})
    assert answers.value(TOPICS) == []
    assert (answers.value(ENDS), answers.answer(ENDS).problem) == (None, "refused")
