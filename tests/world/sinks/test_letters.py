"""The check of dead letters compares them with their records by a rule of its own."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest

from tests.replicator.batches.source_batches import Record
from tests.world.sinks.letters import WHOLE_BYTES, difference

RECORD = Record(7, 1000, b"k", b"v" * (2 * WHOLE_BYTES), (("trace", b"\xff"), ("none", None)))
TOLD = (("sluice.timestamp", b"1000"),)
LETTER = replace(RECORD, timestamp=5, headers=(*RECORD.headers, *TOLD))
DIGEST = hashlib.sha256(RECORD.value or b"").hexdigest().encode()
SIZE = str(2 * WHOLE_BYTES).encode()


def cut(value: bytes, size: bytes = SIZE, digest: bytes = DIGEST) -> Record:
    told = (*TOLD, ("sluice.value.bytes", size), ("sluice.value.sha256", digest))
    return replace(LETTER, value=value, headers=(*RECORD.headers, *told))


@pytest.mark.parametrize("letter", [LETTER, cut(b"vvv")], ids=["whole", "cut"])
def test_a_whole_letter_and_one_that_tells_what_was_cut_are_right(letter: Record) -> None:
    assert difference(RECORD, letter) == ""


@pytest.mark.parametrize(
    "letter",
    [
        replace(LETTER, key=b"other"),
        replace(LETTER, value=b"vvv"),
        replace(LETTER, headers=(("trace", b"?"), ("none", None), *TOLD)),
        replace(LETTER, headers=(("trace", b"\xff"), ("none", b""), *TOLD)),
        replace(LETTER, headers=(*RECORD.headers, ("sluice.timestamp", b"5"))),
        cut(b"vvw"),
        cut(b"vvv", size=b"3"),
        cut(b"vvv", digest=b"0"),
    ],
    ids=["key", "value", "header", "null header", "time", "cut value", "cut size", "cut digest"],
)
def test_every_other_letter_is_wrong(letter: Record) -> None:
    assert difference(RECORD, letter)


def test_a_letter_that_would_fit_is_not_cut() -> None:
    small = replace(RECORD, value=b"v")
    digest = hashlib.sha256(b"v").hexdigest().encode()
    assert "would fit" in difference(small, cut(b"v", b"1", digest))
