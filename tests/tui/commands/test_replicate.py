"""Claims about `sluice replicate` that need neither Spark nor servers: mistakes are told first."""

import pytest

from tui.program import run

CONFIG = """
routes = ["west>east"]
[regions.west]
redis = "redis://127.0.0.1:1"
regional.bootstrap = ["127.0.0.1:1"]
aggregate.bootstrap = ["127.0.0.1:2"]
[regions.east]
redis = "redis://127.0.0.1:1"
regional.bootstrap = ["127.0.0.1:3"]
aggregate.bootstrap = ["127.0.0.1:4"]
"""


@pytest.fixture
def config(tmp_path):
    file = tmp_path / "appliance.toml"
    file.write_text(CONFIG)
    return str(file)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--region", "north"], "sluice: no region 'north'"),
        (["--region", "west"], "sluice: no route leads into 'west'"),
        (["--region", "east", "--adopt", "east>east"], "sluice: no route 'east>east'"),
        (["--region", "east", "--conf", "spark.executor.memory"], "a setting is KEY=VALUE"),
    ],
)
def test_a_mistake_ends_it_with_2_before_anything_is_started(config, capsys, more, told):
    assert run(["replicate", "--config", config, *more]) == 2
    assert told in capsys.readouterr().err
