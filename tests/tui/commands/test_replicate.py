"""`sluice replicate` without Spark and servers: mistakes are reported before anything starts."""

import logging
import os

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
    ("more", "message"),
    [
        (["--region", "north"], "sluice: no region 'north'"),
        (["--region", "west"], "sluice: no route leads into 'west'"),
        (["--region", "east", "--adopt", "east>east"], "sluice: no route 'east>east'"),
        (
            ["--region", "east", "--master", "spark://spark.east:7077"],
            "needs the secret that its hosts share: --conf spark.authenticate.secret.file=FILE",
        ),
        (["--region", "east", "--conf", "spark.executor.memory"], "a setting is KEY=VALUE"),
    ],
)
def test_a_mistake_ends_it_with_2_before_anything_is_started(config, capsys, more, message):
    assert run(["replicate", "--config", config, *more]) == 2
    assert message in capsys.readouterr().err


def test_a_state_folder_that_others_may_write_to_ends_it_with_1_and_the_mend(
    config, tmp_path, caplog
):
    (tmp_path / "state").mkdir()
    (tmp_path / "state").chmod(0o777)
    root = logging.getLogger()
    before, handlers = os.umask(0o022), list(root.handlers)
    root.handlers = [it for it in handlers if it is caplog.handler]
    try:
        assert run(["replicate", "--config", config, "--region", "east"]) == 1
    finally:
        os.umask(before)
        root.handlers = handlers
    assert f"chmod go-w {tmp_path / 'state'}" in caplog.text
