"""Ports of Spark's JVM are open to any process on the host, and refuse one without the secret."""

import psutil
import pytest

from tests.live import stranger
from tests.live.replicate_daemon import Region, region  # noqa: F401

pytestmark = pytest.mark.timeout(300)
# ruff: noqa: F811

PY4J_SERVES = b"!y"
PY4J_REFUSES = b"!x"


def test_no_port_of_sparks_jvm_serves_a_process_that_does_not_know_the_secret(
    region: Region,
) -> None:
    daemon = region.start(wait=False)
    jvm = psutil.Process(int(daemon.hear(r"event=spark-started .*jvm=(\d+)")[1]))
    ports = {it.laddr.port for it in jvm.net_connections("tcp") if it.status == "LISTEN"}
    called = {port: stranger.called(port) for port in ports}
    assert not any(answer.startswith(PY4J_SERVES) for answer in called.values()), called
    refused = {port for port, answer in called.items() if answer.startswith(PY4J_REFUSES)}
    assert len(refused) == 1, called
    # The other two ports are the driver's and the block manager's. Each gets the requests of both.
    transport = ports - refused
    assert len(transport) == 2
    for port in transport:
        for body in (stranger.opening_no_blocks(), stranger.hello_to("MapOutputTracker", port)):
            kind, answer = stranger.asked(port, body)
            assert kind == stranger.RPC_FAILURE, (port, kind, answer)
            assert b"Expected SaslMessage" in answer, (port, answer)
