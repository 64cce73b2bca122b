"""Answers of a store: their kinds, the verdict on an object, and a store that is busy."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aggregator.intents.table_range import Manifest
from aggregator.s3.answers import Answer, StoreProblem, meaning
from aggregator.s3.busy_store import ATTEMPTS, until_answered
from aggregator.s3.object_store import TOKEN, Found
from aggregator.s3.object_verdict import Verdict, verdict

# -- Errors of object stores are told apart by what has to be done.


@pytest.mark.parametrize(
    ("code", "status", "answer"),
    [
        ("404", 404, Answer.ABSENT),  # HEAD has no body
        ("NoSuchBucket", 404, Answer.NO_BUCKET),
        ("NoSuchUpload", 404, Answer.UPLOAD_GONE),
        ("InvalidPart", 400, Answer.UPLOAD_GONE),
        ("PreconditionFailed", 412, Answer.TAKEN),
        ("ConditionalRequestConflict", 409, Answer.CONFLICT),
        ("AccessDenied", 403, Answer.DENIED),
        ("ExpiredToken", 400, Answer.DENIED),
        ("NotImplemented", 501, Answer.UNSUPPORTED),
        ("SlowDown", 503, Answer.BUSY),
        ("RequestTimeout", 400, Answer.BUSY),
        ("", 408, Answer.BUSY),
        ("InsufficientStorage", 507, Answer.BUSY),
        ("InternalError", 200, Answer.BUSY),
        ("SomethingNew", 200, Answer.BUSY),
        ("EntityTooSmall", 400, Answer.REFUSED),
        ("BadDigest", 400, Answer.REFUSED),
        ("400", 400, Answer.DENIED),  # HEAD of an expired session token, as AWS answers it
        ("401", 401, Answer.DENIED),
        ("403", 403, Answer.DENIED),
        ("InvalidToken", 400, Answer.DENIED),
        ("TokenRefreshRequired", 400, Answer.DENIED),
        ("SomethingNew", 400, Answer.DENIED),
    ],
)
def test_an_error_means_what_its_code_says_and_else_what_its_status_says(code, status, answer):
    assert meaning(code, status) is answer


# -- An object is ours by its size and checksum, and by its token where a store keeps no
# checksum.

MANIFEST = Manifest(begin=3, end=9, records=6, size_bytes=100, crc32c=7, token="mine")


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (None, Verdict.ABSENT),
        (Found(100, 7, {}), Verdict.OURS),
        (Found(100, 7, {TOKEN: "of a predecessor"}), Verdict.OURS),
        (Found(100, 8, {TOKEN: "mine"}), Verdict.OTHER),
        (Found(99, 7, {TOKEN: "mine"}), Verdict.OTHER),
        (Found(99, None, {TOKEN: "mine"}), Verdict.OTHER),
        (Found(100, None, {TOKEN: "mine"}), Verdict.OURS),
        (Found(100, None, {TOKEN: "of a predecessor"}), Verdict.UNCLEAR),
        (Found(100, None, {}), Verdict.UNCLEAR),
    ],
)
def test_size_and_checksum_decide_and_the_token_where_there_is_no_checksum(found, expected):
    assert verdict(found, MANIFEST) is expected


def test_only_the_content_that_an_operator_named_is_given_up():
    given_up = replace(MANIFEST, over='"e1"')
    assert verdict(Found(99, 7, {}, '"e1"'), given_up) is Verdict.GIVEN_UP
    assert verdict(Found(99, 7, {}, '"e2"'), given_up) is Verdict.OTHER
    assert verdict(Found(99, 7, {}, ""), MANIFEST) is Verdict.OTHER
    assert verdict(Found(100, 7, {}, '"e1"'), given_up) is Verdict.OURS
    assert verdict(Found(100, None, {}, '"e1"'), given_up) is Verdict.UNCLEAR
    assert verdict(None, given_up) is Verdict.ABSENT


def test_a_checksum_of_zero_is_one():
    assert verdict(Found(100, 0, {TOKEN: "mine"}), MANIFEST) is Verdict.OTHER
    assert verdict(Found(100, 0, {}), replace(MANIFEST, crc32c=0)) is Verdict.OURS


def test_an_object_without_records_needs_nothing_under_its_name():
    assert verdict(None, replace(MANIFEST, left_out=6)) is Verdict.OURS
    assert verdict(None, replace(MANIFEST, left_out=5)) is Verdict.ABSENT


# -- Busy store: asked again a few times, and only while it is busy.


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
