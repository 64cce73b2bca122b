"""Every error code has one answer, and the answers are those of the design."""

import pytest

from replicator.kafka.verdict import Verdict, named, verdict


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
def test_codes_are_answered_as_the_design_says(answer, codes):
    assert {verdict(code) for code in codes} == {answer}


@pytest.mark.parametrize("code", [-1, 1, 28, 46, 77, 999])
def test_what_nobody_knows_to_help_stops(code):
    assert verdict(code) is Verdict.REFUSED


def test_a_code_has_its_protocol_name():
    assert named(47) == "INVALID_PRODUCER_EPOCH"
    assert named(999) == "error 999"
