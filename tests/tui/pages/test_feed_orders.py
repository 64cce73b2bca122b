"""Actions on feeds and their partitions: the real commands, and why one is off."""

from __future__ import annotations

from dataclasses import replace

import pytest

from replicator.kafka.client.loss import Loss, LossKind
from tests.tui.console.snapshots import feed
from tests.tui.console.typed_actions import command_of, typed_words
from tests.tui.pages.finding_snapshots import busy_feed
from tui.pages.feed_orders import NO_FEED, feed_actions
from tui.steering.steered_command import NotSteered, steered

REPLAY, STUCK, FROZEN, *_ = busy_feed().partitions


def actions(found, partition=None):
    return {each.label: each for each in feed_actions(found, partition)}


def test_a_partition_is_frozen_with_all_that_names_it():
    freeze = actions(busy_feed(), REPLAY)["freeze"]
    path, values = command_of(freeze, **{"for": "2h", "table": "o"})
    assert path == "aggregate freeze"
    named = [values[name] for name in ("feed_name", "cluster", "topic", "partition", "table")]
    assert named == ["ticks", "west aggregate", "orders", 0, "o"]
    assert (values["duration"], freeze.confirmation) == ("2h", "orders-0")


def test_only_what_is_frozen_is_resumed():
    assert actions(busy_feed(), REPLAY)["resume"].why_off == "nothing of it is frozen"
    assert actions(feed())["resume"].why_off == "nothing of it is frozen"
    assert actions(busy_feed())["resume"].why_off is None
    path, values = command_of(actions(busy_feed(), FROZEN)["resume"])
    assert (path, values["partition"]) == ("aggregate resume", 2)


def test_losses_are_accepted_in_a_shell_only():
    accept = actions(busy_feed(), STUCK)["accept loss"]
    assert accept.is_copied and not accept.changes
    path, values = command_of(accept)
    assert (path, values["topic"], values["yes"]) == ("aggregate accept-loss", "orders", False)
    with pytest.raises(NotSteered):
        steered(accept.words)
    assert actions(busy_feed(), REPLAY)["accept loss"].why_off == "nothing here is parked"
    assert actions(busy_feed())["accept loss"].why_off is None


def test_a_name_that_is_taken_is_overwritten_in_a_shell_only():
    """Accepting the loss would only park the partition again."""
    taken = replace(STUCK, parked=str(Loss(LossKind.OBJECT_TAKEN, 180, 270)))
    found = actions(busy_feed(), taken)
    assert "accept loss" not in found
    path, values = command_of(found["overwrite"])
    assert found["overwrite"].is_copied
    assert (path, values["topic"], values["confirm"]) == ("aggregate overwrite", "orders", False)


@pytest.mark.parametrize("label", ["freeze", "resume"])
def test_the_console_runs_the_others(label):
    action = actions(busy_feed(), FROZEN)[label]
    assert steered(typed_words(action))[0] == action.words[:2]


@pytest.mark.parametrize("label", ["freeze", "resume", "accept loss"])
def test_no_field_can_change_what_the_confirmation_names(label):
    action = actions(busy_feed(), FROZEN)[label]
    assert {field.name for field in action.fields} <= {"table", "reason", "for"}
    assert command_of(action)[1]["partition"] == 2
    assert command_of(actions(busy_feed())[label])[1]["partition"] is None


def test_without_a_feed_everything_is_off():
    assert {each.why_off for each in feed_actions(None)} == {NO_FEED}
