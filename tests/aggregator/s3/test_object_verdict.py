"""An object is ours by its size and checksum, and by its token where a store keeps no checksum."""

from dataclasses import replace

import pytest

from aggregator.intents.table_range import Manifest
from aggregator.s3.object_store import TOKEN, Found
from aggregator.s3.object_verdict import Verdict, verdict

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
