"""Actions on topics and partitions: the real commands, about exactly what is under the cursor."""

import pytest

from tests.tui.console.typed_actions import command_of, typed_words
from tui.pages.stream_orders import topic_actions

ACTIONS = topic_actions("east>west", "orders", 17, parked=True)
OF_TOPIC = topic_actions("east>west", "orders", None, parked=True)


def partition_of(values):
    """Returns the only partition that a command is about; None: the whole topic."""
    found = values["partition"] if "partition" in values else values["numbers"]
    return next(iter(found), None) if isinstance(found, tuple) else found


@pytest.mark.parametrize(
    ("place", "path"),
    [(0, "stream pause-topic"), (1, "stream resume-topic"), (2, "stream rewind-topic")],
)
def test_an_action_is_about_the_partition_and_its_topic(place, path):
    found, values = command_of(ACTIONS[place])
    assert (found, values["topic"], partition_of(values)) == (path, "orders", 17)
    assert partition_of(command_of(OF_TOPIC[place])[1]) is None


def test_a_loss_is_accepted_for_the_partition_only():
    path, values = command_of(ACTIONS[3])
    assert (path, values["topics"], partition_of(values)) == ("accept-loss", ("orders",), 17)
    assert partition_of(command_of(OF_TOPIC[3])[1]) is None
    assert not values["yes"]


def test_no_field_can_change_what_the_confirmation_names():
    for action in (*ACTIONS, *OF_TOPIC):
        assert {field.name for field in action.fields} <= {"reason", "for", "to"}
        emptied = typed_words(action, **{field.name: " " for field in action.fields})
        assert emptied[-1] in ("orders", "17") or "--" in emptied


def test_a_topic_that_begins_with_a_hyphen_is_no_option():
    path, values = command_of(topic_actions("a>b", "-x", 3)[0])
    assert (path, values["topic"], partition_of(values)) == ("stream pause-topic", "-x", 3)


def test_losses_and_rewinding_are_only_copied():
    copied = {action.label for action in ACTIONS if action.is_copied}
    assert copied == {"rewind", "accept loss"}
    assert {action.label for action in ACTIONS if action.changes} == {"pause", "resume"}


def test_the_confirmation_names_topic_and_partition():
    assert ACTIONS[0].confirmation == "orders-17"
    assert topic_actions("a>b", "orders", None)[0].confirmation == "orders"


def test_without_a_topic_every_action_says_why_it_is_off():
    assert all(each.why_off for each in topic_actions("a>b", None, None))


def test_without_a_loss_there_is_none_to_accept():
    assert topic_actions("a>b", "orders", None)[-1].why_off == "nothing here is parked"
