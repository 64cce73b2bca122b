"""sluice config check: checks the configuration and, on request, the clusters that it names."""

from typing import TYPE_CHECKING, Any

import click

from tui.cli.exit_codes import ExitCode
from tui.cli.output import config_option, emit, output_option, table

if TYPE_CHECKING:
    from replicator.config.topology import Appliance


@click.group()
def config() -> None:
    """The appliance's configuration."""


@config.command()
@config_option
@click.option("--connect", is_flag=True, help="Also reach every cluster it names.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0.1),
    default=5.0,
    show_default=True,
    help="Seconds per cluster.",
)
@output_option
def check(config: str, connect: bool, timeout: float, output: str) -> int:
    """Name every mistake of a configuration at once, each with its path in the file.

    Ends with 0 when there is none, with 2 otherwise; with --connect also with 3 when a cluster
    cannot be reached.
    """
    from replicator.config.mistakes import ConfigMistakes
    from replicator.config.topology import load

    try:
        appliance = load(config)
    except ConfigMistakes as error:
        text = str(error)
        listed = [{"path": mistake.path, "text": mistake.text} for mistake in error.mistakes]
        emit(output, {"ok": False, "file": error.file, "mistakes": listed}, lambda: text)
        return ExitCode.USAGE
    if not connect:
        emit(output, {"ok": True, "file": config, **summary(appliance)}, lambda: told(appliance))
        return ExitCode.DONE
    from tui.state.connections import connected

    found = connected(appliance, timeout)
    value = {
        "ok": found.exit_code == ExitCode.DONE,
        "file": config,
        **summary(appliance),
        "clusters": found.as_values(),
    }
    emit(output, value, lambda: f"{found.as_table()}\n{'' if found.exit_code else told(appliance)}")
    return found.exit_code


def summary(appliance: "Appliance") -> dict[str, Any]:
    return {
        "regions": sorted(appliance.regions),
        "routes": [route.name for route in appliance.routes],
        "topics": {"allow": list(appliance.topics.allow), "deny": list(appliance.topics.deny)},
    }


def told(appliance: "Appliance") -> str:
    rows = [
        (name, *(", ".join(c.bootstrap) for c in (region.regional, region.aggregate)))
        for name, region in sorted(appliance.regions.items())
    ]
    routes = ", ".join(route.name for route in appliance.routes)
    return f"ok\n{table(('REGION', 'REGIONAL', 'AGGREGATE'), rows)}\nroutes: {routes}"
