"""Answers of several brokers about the same groups, joined.

Real brokers are asked in tests/live/test_group_questions.py.
"""

import pytest

from replicator.groups.membership.committed_offsets import CommittedOffsets, joined
from replicator.kafka.client.cluster import Forbidden
from replicator.kafka.protocol.error_codes import Code
from replicator.kafka.protocol.group_offsets import GroupOffsets

ELSEWHERE = GroupOffsets(Code.NOT_COORDINATOR, {})
FORBIDDEN = GroupOffsets(Code.GROUP_AUTHORIZATION_FAILED, {})
KNOWN = GroupOffsets(0, {"orders": [(0, 7)]})


def test_the_answer_of_a_groups_coordinator_counts():
    answers = [{"g": ELSEWHERE, "h": KNOWN}, {"g": KNOWN, "h": ELSEWHERE}]
    assert joined("west aggregate", answers) == {"g": KNOWN.commits, "h": KNOWN.commits}


def test_a_group_whose_coordinator_does_not_answer_is_left_out():
    assert joined("west aggregate", [{"g": ELSEWHERE, "h": KNOWN}]) == {"h": KNOWN.commits}


def test_a_group_without_commits_is_known_to_have_none():
    assert joined("west aggregate", [{"g": GroupOffsets(0, {})}]) == {"g": {}}


def test_a_missing_right_is_an_error_only_if_nothing_may_be_read():
    assert joined("west aggregate", [{"g": FORBIDDEN, "h": KNOWN}]) == {"h": KNOWN.commits}
    with pytest.raises(Forbidden, match="GROUP_AUTHORIZATION_FAILED"):
        joined("west aggregate", [{"g": FORBIDDEN, "h": ELSEWHERE}])


def test_without_groups_no_broker_is_asked():
    assert CommittedOffsets("west aggregate", None).of([]) == {}
