"""An error of a callback waits until the messages of its call are taken in."""

import pytest

from replicator.groups.resume.resuming_consumer import CallbackErrors


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
