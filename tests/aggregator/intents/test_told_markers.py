"""Told markers: found again as an intent told of them, or not believed."""

from __future__ import annotations

from dataclasses import replace

from aggregator.intents.intent import Intent, decode, encode
from aggregator.intents.table_range import TableRange
from aggregator.intents.told_markers import DIGESTS, Marker, ToldMarkers, digest_of
from aggregator.intents.verdicts import between
from replicator.kafka.client.custody import Custody

MARKERS = {"a": Marker(40, 7), "b": Marker(50, 8)}
TOLD = ToldMarkers(
    7, 30, 2, sum(digest_of(name, each.end) for name, each in MARKERS.items()) % DIGESTS
)
INTENT = Intent(
    custody=Custody.HELD, offset=30, reference=30, position=60, transactional_id="l", told=TOLD
)


def test_what_was_told_is_found_whatever_stands_beside_it():
    told = [("a", Marker(20, 7)), ("a", Marker(40, 7)), ("b", Marker(50, 8)), ("c", Marker(30, 9))]
    assert TOLD.found(told, {}) == MARKERS
    assert TOLD.found([*told, ("named", Marker(70, 9))], {"named": 1}) == MARKERS


def test_markers_that_are_others_are_not_believed():
    told = [*MARKERS.items()]
    assert TOLD.found(told[:1], {}) is None
    assert TOLD.found([*told, ("c", Marker(31, 9))], {}) is None
    assert TOLD.found([told[0], ("b", Marker(51, 8))], {}) is None


def test_an_intent_reads_as_it_was_written_and_no_earlier_version_reads_it():
    assert decode(*encode(INTENT)) == INTENT
    assert '"v":2' in encode(INTENT)[1] and '"v":1' in encode(replace(INTENT, told=None))[1]


def test_a_range_is_known_once_the_markers_are():
    known = replace(INTENT, told=replace(TOLD, markers=MARKERS))
    assert [known.range_of(name).end for name in "abc"] == [40, 50, 30]


def test_the_verifier_compares_no_range_that_is_told_elsewhere():
    named = replace(INTENT, told=None, tables={"a": TableRange(40, 40)})
    assert [*between(named, INTENT)] == []
    assert [*between(named, replace(named, tables={}))] != []
