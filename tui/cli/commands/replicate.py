"""sluice replicate: the daemon that carries all routes into one region."""

import click

from tui.cli.options import config_option


def pairs(_: click.Context, option: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """Parses a repeated KEY=VALUE option. Raises BadParameter."""
    found = dict(value.partition("=")[::2] for value in values)
    if not all(key and setting for key, setting in found.items()):
        raise click.BadParameter("a setting is KEY=VALUE", param=option)
    return found


@click.command()
@config_option
@click.option(
    "--region", required=True, metavar="REGION", help="The TARGET region, where this daemon runs."
)
@click.option(
    "--master",
    default="local[*,8]",
    show_default=True,
    help="Master URL of Spark. A plain local[*] never retries a task.",
)
@click.option(
    "--conf",
    "conf",
    metavar="KEY=VALUE",
    multiple=True,
    callback=pairs,
    help="Spark setting, such as spark.executor.memory=1g; it overrides Sluice's own. Repeatable.",
)
@click.option(
    "--adopt",
    metavar="ROUTE",
    multiple=True,
    help="Start this route (west>east) although its topics hold records in the target that it did "
    "not mirror. Needed once, for topics that held records before. Repeatable.",
)
def replicate(
    config: str, region: str, master: str, conf: dict[str, str], adopt: tuple[str, ...]
) -> int:
    """Mirror every route into a region's aggregate cluster, until stopped.

    SIGTERM and Ctrl-C stop it gracefully: carriers drain, release their partitions, and stop.
    """
    from replicator.config.topology import load

    # pyspark takes a second to import, so configuration mistakes are reported before that.
    load(config).region(region)
    from replicator.mirror.driver import daemon

    return daemon.run(config, region, master=master, conf=conf, adopt=adopt)
