"""Busy store: asked again a few times, and only while it is busy."""

from __future__ import annotations

import pytest

from aggregator.s3.answers import Answer, StoreProblem
from aggregator.s3.busy_store import ATTEMPTS, until_answered


class Store:
    """Store that raises these problems in turn, and then answers."""

    def __init__(self, *answers: Answer) -> None:
        self.answers, self.pauses = [*answers], list[float]()

    def ask(self) -> str:
        if self.answers:
            raise StoreProblem(self.answers.pop(0), "words")
        return "answer"

    def until_answered(self) -> str:
        return until_answered(self.ask, self.pauses.append)


def test_a_store_that_is_busy_is_asked_again_ever_later():
    store = Store(*[Answer.BUSY] * (ATTEMPTS - 1))
    assert store.until_answered() == "answer"
    assert len(store.pauses) == ATTEMPTS - 1 and store.pauses[-1] > 2 * store.pauses[0]


@pytest.mark.parametrize(
    ("answers", "pauses"), [([Answer.BUSY] * ATTEMPTS, ATTEMPTS - 1), ([Answer.DENIED], 0)]
)
def test_what_does_not_pass_is_raised(answers, pauses):
    store = Store(*answers)
    with pytest.raises(StoreProblem):
        store.until_answered()
    assert len(store.pauses) == pauses


WORDS = ("ExpiredToken", "InvalidTokenId", "RequestExpired", "InvalidSecurity", "AuthFailure")
"""Words that stores have for a session that has ended."""


@pytest.mark.parametrize("code", ["400", "401", "403", "Forbidden", "NoCredentials", *WORDS])
def test_credentials_that_may_have_changed_are_tried_again(code):
    problems = [StoreProblem(Answer.DENIED, "words", code)] * 2

    def ask() -> str:
        if problems:
            raise problems.pop()
        return "answer"

    assert until_answered(ask, lambda _: None) == "answer"
