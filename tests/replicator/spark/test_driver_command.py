"""Driver commands: which are older than a plan, whatever became of the driver before."""

from __future__ import annotations

import pytest

from replicator.spark.driver_command import DriverCommand, Term
from replicator.spark.reassignment_delta import ReassignmentDelta

OURS, VERSION = Term(7, 3), 18


@pytest.mark.parametrize(
    ("term", "version", "is_before"),
    [
        (OURS, 17, False),
        (OURS, 18, False),
        (Term(7, 2), 17, True),
        (Term(7, 2), 30, True),
        (Term(7, 4), 19, False),
        # The coordinator had forgotten the id: each driver has another producer id.
        (Term(5, 0), 17, True),
        (Term(9, 0), 18, False),
        (Term(9, 0), 19, False),
    ],
)
def test_a_command_of_an_older_plan_of_another_driver_is_older(term, version, is_before):
    command = DriverCommand(term, version, False, ReassignmentDelta(version))
    assert command.is_before(OURS, VERSION) == is_before
