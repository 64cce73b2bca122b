"""sluice replicate: the daemon that carries all routes into one region."""

import click

from tui.commands.options import config_option, spark_options


@click.command()
@config_option
@click.option(
    "--region", required=True, metavar="REGION", help="The TARGET region, where this daemon runs."
)
@spark_options
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
    from replicator.mirror.driver import start

    return start.run(config, region, master=master, conf=conf, adopt=adopt)
