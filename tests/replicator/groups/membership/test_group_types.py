"""Types of groups, and groups that no plan moves."""

from replicator.groups.membership.group_types import unmovable, unmovable_text


def test_a_group_moves_only_if_its_progress_is_committed_offsets():
    types = {"a": "classic", "b": "consumer", "c": "streams", "d": "share", "e": "a later one"}
    assert unmovable(types) == {"d": "share", "e": "a later one"}


def test_the_reason_names_every_type_once():
    assert "type queue and share keep" in unmovable_text({"a": "share", "b": "queue", "c": "share"})
