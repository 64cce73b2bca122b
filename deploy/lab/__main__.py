"""`python -m deploy.lab`: commands to start, list and end the lab."""

import sys

import click

from deploy.lab.archive import make_archive
from deploy.lab.lab import RUN, AlreadyUp, Lab, running, take_down
from deploy.lab.process import NotStarted


@click.group()
def main() -> None:
    """Two regions of real servers on this machine."""


@main.command()
def up() -> None:
    """Start both regions and leave them running."""
    try:
        lab = Lab(detached=True)
        lab.start()
    except (AlreadyUp, NotStarted) as error:
        sys.exit(str(error))
    for region in lab.regions.values():
        click.echo(
            f"{region.name}: regional {region.regional.bootstrap}"
            f"  aggregate {region.aggregate.bootstrap}  {region.redis.url}"
        )
    click.echo(f"configuration: {lab.configuration}")


@main.command()
def down() -> None:
    """End the servers that `up` started."""
    click.echo(f"ended {take_down()} servers")


@main.command()
def status() -> None:
    """List the servers that run; exit status 1 when none does."""
    servers = running()
    for server in servers:
        click.echo(f"{server.name}  pid {server.pid}")
    if not servers:
        sys.exit(f"no lab is up in {RUN}")


@main.command()
def archive() -> None:
    """Prepare class data so that brokers start in half the time (done by the set-up)."""
    make_archive()


if __name__ == "__main__":
    main()
