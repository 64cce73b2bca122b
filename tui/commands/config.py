"""sluice config check: checks the configuration and, on request, the clusters that it names."""

import click

from tui.commands.exit_codes import ExitCode
from tui.commands.options import config_option, output_option, timeout_option
from tui.commands.output import emit


@click.group()
def config() -> None:
    """Check the configuration of the appliance."""


@config.command()
@config_option
@click.option("--connect", is_flag=True, help="Also connect to every cluster in the file.")
@timeout_option(5.0, "Seconds to wait for each cluster.")
@output_option
def check(config: str, connect: bool, timeout: float, output: str) -> int:
    """List all mistakes of a configuration, each with its path in the file.

    Exits with 0 when there is none, with 2 otherwise; with --connect also with 3 when a cluster
    cannot be reached.
    """
    from replicator.config.mistakes import ConfigMistakes
    from replicator.config.topology import load
    from tui.commands.views.config_view import as_text, as_values, mistakes_values

    try:
        appliance = load(config)
    except ConfigMistakes as error:
        text = str(error)
        emit(output, mistakes_values(error), lambda: text)
        return ExitCode.USAGE
    connections = None
    if connect:
        from tui.facts.watch.connection_probe import connections_of

        connections = connections_of(appliance, timeout)
    value = as_values(config, appliance, connections)
    emit(output, value, lambda: as_text(appliance, connections))
    if any(each.cluster_id is None for each in connections or ()):
        return ExitCode.UNREACHABLE
    return ExitCode.DONE if value["ok"] else ExitCode.USAGE
