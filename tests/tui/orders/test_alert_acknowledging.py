"""Acknowledging of alerts: keys that no alert has are refused; without Redis nothing is noted."""

import pytest

from replicator.config.topology import KafkaCluster, Region
from replicator.runtime.store_errors import StoreUnreachable
from tests.addresses import refusing
from tui.facts.alert import KEY_BEGINNINGS
from tui.orders.alert_acknowledging import KEY_CHARACTERS_MAX, Acknowledging, BadKey, check_key


@pytest.mark.parametrize("kind", KEY_BEGINNINGS)
def test_the_keys_of_all_kinds_of_alerts_are_taken(kind):
    check_key(f"{kind}/west>east/orders/")


@pytest.mark.parametrize("key", ["", "copies", "copies/", "nonsense/x", "copies/" + "x" * 1000])
def test_a_key_that_no_alert_has_is_refused(key):
    assert KEY_CHARACTERS_MAX == 1000
    with pytest.raises(BadKey, match="no key of an alert; keys begin with audit/, balance/"):
        check_key(key)


def test_without_redis_nothing_is_acknowledged():
    region = Region(
        name="east",
        regional=KafkaCluster(bootstrap=("h:1",)),
        aggregate=KafkaCluster(bootstrap=("h:2",)),
        redis=f"redis://{refusing()}",
    )
    acknowledging = Acknowledging(region, "ann@ops", 1.0)
    with pytest.raises(StoreUnreachable):
        acknowledging.put("copies/east", "looking", 1000)
    with pytest.raises(StoreUnreachable):
        acknowledging.withdraw("copies/east")
