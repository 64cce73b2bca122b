"""sluice replicate: the daemon that carries all routes into one region."""

import click

from tui.output import config_option


@click.command()
@config_option
@click.option("--region", required=True, help="The TARGET region: where this daemon runs.")
@click.option(
    "--master",
    default="local[*,8]",
    show_default=True,
    help="Spark's master. Plain local[*] never retries a task.",
)
def replicate(config: str, region: str, master: str) -> int:
    """Mirror every route into a region's aggregate cluster, until stopped.

    SIGTERM and Ctrl-C end it gracefully: carriers drain, release their partitions, and end.
    """
    from replicator.topology import load

    # pyspark takes a second to import: mistakes are told before.
    load(config).region(region)
    from replicator import daemon

    return daemon.run(config, region, master=master)
