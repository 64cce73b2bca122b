"""Claims about the driver daemon that need no server: its exit codes."""

import pytest

from replicator.kafka.admin.admin_error import Refused
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Fenced
from replicator.kafka.client.cluster_ids import SameCluster
from replicator.mirror.driver.daemon import FORESEEN
from replicator.runtime.exit_codes import Exit, decisive
from replicator.spark.driver_command import TermSuperseded
from replicator.spark.driver_daemon import exit_code_of

REFUSED, FENCED = Refused("east aggregate", "no"), Fenced("east aggregate", [90])


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (FENCED, Exit.FENCED),
        (ExceptionGroup("", [REFUSED, FENCED]), Exit.FENCED),
        (ExceptionGroup("", [REFUSED, ExceptionGroup("", [TermSuperseded("x")])]), Exit.FENCED),
        (ExceptionGroup("", [ExceptionGroup("", [Unreachable("x")])]), Exit.UNREACHABLE),
        (ExceptionGroup("", [REFUSED, KeyError("x")]), Exit.FAILED),
        (ExceptionGroup("", [SameCluster("x")]), Exit.MISCONFIGURED),
        (ExceptionGroup("", [SameCluster("x"), FENCED]), Exit.FENCED),
    ],
)
def test_a_newer_driver_decides_the_exit_code_whatever_else_failed(error, code):
    decided = decisive(error, (Fenced, TermSuperseded))
    assert exit_code_of(decided, FORESEEN, has_successor=True) is code


def test_a_fence_that_is_no_newer_drivers_is_a_failure_that_a_restart_mends():
    assert exit_code_of(FENCED, FORESEEN, has_successor=False) is Exit.FAILED
