"""Every error code has one verdict, and the verdicts are those of the design."""

import re
from pathlib import Path

import pytest

from replicator.kafka.client.cluster import ProducerStateLost
from replicator.kafka.protocol.error_codes import (
    NOTHING_APPENDED,
    Code,
    Verdict,
    may_have_appended,
    named,
    verdict,
)

ROOT = Path(__file__).parents[3] / "replicator"


@pytest.mark.parametrize(
    ("answer", "codes"),
    [
        (Verdict.FINE, (0,)),
        (Verdict.AGAIN, (3, 5, 6, 7, 8, 9, 13, 14, 15, 16, 19, 20, 51, 56, 72, 78)),
        (Verdict.FENCED, (47, 90)),
        (Verdict.START_OVER, (45, 48, 49, 59)),
        (Verdict.FORBIDDEN, (29, 30, 31, 53)),
        (Verdict.POISON, (2, 10, 12, 32, 87)),
    ],
)
def test_codes_have_the_verdicts_of_the_design(answer, codes):
    assert {verdict(code) for code in codes} == {answer}


@pytest.mark.parametrize("code", [-1, 1, 28, 46, 77, 999])
def test_an_unknown_code_stops(code):
    assert verdict(code) is Verdict.REFUSED


def test_a_code_has_its_protocol_name():
    assert named(47) == "INVALID_PRODUCER_EPOCH"
    assert named(999) == "error 999"


def test_a_code_is_named_in_texts_and_compared_by_number():
    assert verdict(Code.NOT_LEADER_OR_FOLLOWER) is verdict(6) is Verdict.AGAIN
    assert named(Code.UNKNOWN_TOPIC_ID) == named(100) == "UNKNOWN_TOPIC_ID"


def test_no_other_module_compares_a_code_with_a_bare_number():
    bare = re.compile(r"\bcode (?:==|!=|in) \(?\d")
    assert [path.name for path in ROOT.rglob("*.py") if bare.search(path.read_text())] == []


def test_an_error_without_a_code_shows_its_text_alone():
    assert str(ProducerStateLost("records are too old")) == "records are too old"
    assert str(ProducerStateLost("Produce", [45])) == "Produce: OUT_OF_ORDER_SEQUENCE_NUMBER"


PROVED = {2, 10, 18, 19, 32, 45, 76, 87, 100}
"""Errors that Kafka 4.3 throws before it appends, and at no later step."""


@pytest.mark.parametrize("code", range(-1, 140))
def test_an_error_leaves_an_append_in_doubt_unless_it_is_thrown_before_the_append_only(code):
    assert may_have_appended(code) is (code not in PROVED | {0})


def test_each_proof_that_nothing_was_appended_has_its_reason():
    assert all(NOTHING_APPENDED.values())
