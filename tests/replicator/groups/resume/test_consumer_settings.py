"""Settings of the application's consumer, and errors of its callbacks."""

import pytest

from replicator.config.topology import KafkaCluster
from replicator.groups.resume.resuming_consumer import CallbackErrors, consumer_settings

# -- The helper's consumer never commits by itself; all other settings are the application's.

AGGREGATE = KafkaCluster(bootstrap=("kafka:9092",))


def settings(*, is_tracking=False, **config):
    named = {key.replace("_", "."): value for key, value in config.items()}
    return consumer_settings({"group.id": "g"} | named, AGGREGATE, is_tracking=is_tracking)


def test_the_address_comes_from_the_appliance_unless_it_is_given():
    assert settings().options["bootstrap.servers"] == "kafka:9092"
    assert settings(bootstrap_servers="near:1").options["bootstrap.servers"] == "near:1"


def test_commits_are_taken_over_with_their_interval():
    found = settings(enable_auto_commit="true", auto_commit_interval_ms=250)
    assert found.options["enable.auto.commit"] is False
    assert found.commit_seconds == 0.25
    assert settings().commit_seconds == 5
    assert settings(enable_auto_commit=False).commit_seconds is None


def test_an_application_that_stores_vectors_commits_by_itself():
    assert settings(is_tracking=True).commit_seconds is None
    with pytest.raises(ValueError, match="commit after the vectors are stored"):
        settings(is_tracking=True, enable_auto_commit=True)


@pytest.mark.parametrize("config", [{}, {"group.id": ""}, {"group.id": None}])
def test_a_group_is_needed(config):
    with pytest.raises(ValueError, match=r"group\.id is missing"):
        consumer_settings(config, AGGREGATE, is_tracking=False)


@pytest.mark.parametrize(
    ("config", "is_incremental"),
    [
        ({}, False),
        ({"group_protocol": "consumer"}, True),
        ({"partition_assignment_strategy": "cooperative-sticky"}, True),
        ({"partition_assignment_strategy": "range,roundrobin"}, False),
    ],
)
def test_how_partitions_come_and_go_is_the_protocols(config, is_incremental):
    assert settings(**config).is_incremental is is_incremental


# -- An error of a callback waits until the messages of its call are taken in.


def test_the_first_error_is_raised_once():
    errors = CallbackErrors()
    for error in (LookupError("first"), OSError("second")):
        with errors.kept():
            raise error
    with pytest.raises(LookupError, match="first"):
        errors.raise_first()
    errors.raise_first()


def test_an_interrupt_is_kept_too():
    """confluent_kafka drops messages on any exception."""
    errors = CallbackErrors()
    for error in (KeyboardInterrupt(),):
        with errors.kept():
            raise error
    with pytest.raises(KeyboardInterrupt):
        errors.raise_first()
