"""The reserve of an intent is as long as any objects that may have to be named."""

from dataclasses import replace

import pytest

from aggregator.intents.intent import Intent, decode, encode
from aggregator.objects.intent_reserve import reserved
from replicator.kafka.client.custody import Custody

INTENT = Intent(custody=Custody.HELD, offset=0, reference=0, transactional_id="loader")


@pytest.mark.parametrize("count", [1, 2])
def test_as_many_objects_as_asked_for_have_the_longest_name_that_waits(count):
    found = reserved(count, ["a", "carrier=UA", "b"], beside={})
    assert [*found] == [f"carrier=UA.{at}" for at in range(count)]
    assert len({*found.values()}) == count, "one that equals another would be packed"
    assert decode(*encode(replace(INTENT, tables=found))).tables == found


def test_a_name_that_the_intent_has_already_is_left_out():
    assert [*reserved(1, ["a", "carrier=UA"], beside={"carrier=UA": None})] == ["a.0"]
    assert [*reserved(1, [], beside={})] == [".0"]
