"""The metrics port: served until stopped, refused by name, off when it is 0."""

from urllib.request import urlopen

import pytest
from prometheus_client import CollectorRegistry, Gauge

from deploy.lab.process import free_port
from replicator.runtime.metrics_server import MetricsServer


def test_it_serves_on_its_port_until_stopped(caplog: pytest.LogCaptureFixture) -> None:
    registry, port = CollectorRegistry(), free_port()
    Gauge("answer", "Of all questions.", registry=registry).set(42)
    server = MetricsServer(port, "127.0.0.1", registry)
    server.start()
    url = f"http://127.0.0.1:{port}/metrics"
    with urlopen(url) as answer:
        assert b"answer 42.0" in answer.read()
    second = MetricsServer(port, "127.0.0.1", registry)
    second.start()
    assert (server.is_serving, second.is_serving) == (True, False)
    assert f"event=no-metrics metrics on 127.0.0.1:{port}: " in caplog.text
    second.stop()
    server.stop()
    with pytest.raises(OSError):
        urlopen(url)


def test_nothing_is_served_unless_asked_for() -> None:
    server = MetricsServer(0, "127.0.0.1", CollectorRegistry())
    server.start()
    assert not server.is_serving
    server.stop()
