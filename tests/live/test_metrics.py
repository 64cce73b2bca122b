"""Metrics from reports that carriers wrote to a real Redis."""

import time
from urllib.request import urlopen

from redis import Redis

from deploy.lab.process import free_port
from deploy.lab.redis import RedisServer
from replicator.config.settings import MetricsSettings
from replicator.config.topology import Appliance, KafkaCluster, Region
from replicator.mirror.driver.metrics import reports_into, serve
from replicator.mirror.offset_map.carrier_reports import reports_index
from replicator.mirror.offset_map.reports import PartitionReport, packed
from replicator.runtime import expiring_values


def test_what_carriers_report_is_served_until_redis_is_away(redis: RedisServer) -> None:
    cluster = KafkaCluster(bootstrap=("h:1",))
    other = KafkaCluster(bootstrap=("h:2",))
    region = Region(name="east", regional=cluster, aggregate=other, redis=redis.url)
    appliance = Appliance.model_validate({"regions": {"east": region.model_dump()}})
    report = PartitionReport(
        "east>east", "orders", 0, 3, 20.0, 900.0, 10, 7, 3, 0.5, None, time.time()
    )
    with Redis.from_url(redis.url) as client:
        expiring_values.put(client, reports_index("east.east"), "3", packed([report]), 60_000)
    settings = MetricsSettings(port=free_port())
    server = serve(settings, reports_into(appliance, "east"))
    try:
        with urlopen(f"http://127.0.0.1:{settings.port}/metrics") as answer:
            text = answer.read().decode()
    finally:
        server.stop()
    assert 'sluice_lag_records{partition="0",route="east>east",topic="orders"} 3.0' in text
    assert "sluice_reports_up 1.0" in text
