import pytest

from balancer.decision.freeze import Freeze, Presence


@pytest.mark.parametrize(
    ("presence", "reason"),
    [
        ({"partitions": 10, "measured": 8, "was_measured": True}, None),
        (
            {"partitions": 10, "measured": 7, "was_measured": True},
            "only 7 of 10 partitions are measured",
        ),
        ({"partitions": 10, "measured": 0, "was_measured": False}, None),
        ({"reporting": 10, "silent": 4}, None),
        ({"reporting": 10, "silent": 5}, "5 of 10 carriers are silent"),
        ({"placed": 10, "vanished": 4}, None),
        ({"placed": 10, "vanished": 5}, "5 of 10 partitions are gone at once"),
        ({"placed": 10, "vanished": 5, "vanished_seconds": 1800}, None),
        ({}, None),
    ],
)
def test_the_reason_counts_missing_partitions_and_carriers(presence, reason):
    assert Presence(**presence).freeze_reason == reason


def test_all_reasons_are_given():
    presence = Presence(placed=10, vanished=10, reporting=2, silent=2)
    assert presence.freeze_reason == (
        "10 of 10 partitions are gone at once; 2 of 2 carriers are silent"
    )


def test_a_freeze_has_a_start_until_its_reason_is_gone():
    gone, there = Presence(placed=10, vanished=9), Presence(placed=10)
    first = Freeze().after(gone, 1000)
    assert (first.since_ms, first.vanished_since_ms) == (1000, 1000)
    second = first.after(gone, 5000)
    assert (second.seconds(5000), second.vanished_seconds(5000)) == (4, 4)
    assert second.after(there, 6000) == Freeze()


def test_vanished_partitions_have_a_start_of_their_own():
    silent = Freeze().after(Presence(reporting=2, silent=2), 1000)
    both = silent.after(Presence(reporting=2, silent=2, placed=10, vanished=9), 9000)
    assert (both.since_ms, both.vanished_since_ms) == (1000, 9000)


def test_a_route_without_partitions_counts_as_never_measured():
    assert not Freeze().after(Presence(), 0).was_measured
    assert Freeze().after(Presence(partitions=1, measured=1), 0).was_measured
