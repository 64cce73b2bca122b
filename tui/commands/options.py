"""Options that several commands share."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tui.commands.output import FORMATS

if TYPE_CHECKING:
    from replicator.config.topology import Appliance, Route

Command = TypeVar("Command", bound=Callable[..., Any])
COMMAND_LINE = click.core.ParameterSource.COMMANDLINE
TYPED = (COMMAND_LINE, click.core.ParameterSource.DEFAULT_MAP)
"""Sources of a typed option: after the command's name, or before it after its group's name."""
SERVER_SECONDS = 15.0
"""Default timeout of the balancing commands for each server."""


class ConfigOption(click.Option):
    """Option --config, which is read from the environment only if it was not typed."""

    def resolve_envvar_value(self, ctx: click.Context) -> str | None:
        # click asks the environment before the default map, which holds what was typed before the
        # subcommand's name.
        if self.name and ctx.lookup_default(self.name) is not None:
            return None
        return super().resolve_envvar_value(ctx)


def _config_option(*, is_required: bool) -> Callable[[Command], Command]:
    return click.option(
        "--config",
        cls=ConfigOption,
        required=is_required,
        envvar="SLUICE_CONFIG",
        show_envvar=True,
        metavar="FILE",
        help="Configuration of the appliance (documented in deploy/appliance.toml).",
    )


config_option = _config_option(is_required=True)
optional_config_option = _config_option(is_required=False)
output_option = click.option(
    "-o",
    "--output",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
    help="Format of the result.",
)
region_option = click.option(
    "--region", metavar="REGION", help="The TARGET region. Default: the target of --route."
)
one_route_option = click.option(
    "--route", "route_name", required=True, metavar="SOURCE>TARGET", help="The route."
)
route_option = click.option(
    "--route", "route_name", metavar="SOURCE>TARGET", help="Only this route into the region."
)
topics_option = click.option(
    "--topic", "topics", multiple=True, help="Only this topic. Repeatable."
)
partitions_option = click.option(
    "--partitions", is_flag=True, help="One line for each partition, not for each topic."
)
max_mib_option = click.option(
    "--max-mib",
    type=click.IntRange(min=1),
    default=512,
    show_default=True,
    help="Size of the recording in MiB; the oldest snapshots go first.",
)
stream_option = click.option("--stream", metavar="STREAM", help="Only this stream.")


def timeout_option(
    seconds: float, help_text: str = "Seconds to wait for each server.", name: str = "timeout"
) -> Callable[[Command], Command]:
    """Option --timeout, passed to the command as `name`.

    Args:
        seconds: default.
    """
    return click.option(
        "--timeout",
        name,
        type=click.FloatRange(min=0.1),
        default=seconds,
        show_default=True,
        help=help_text,
    )


def _some_text(_: click.Context, __: click.Parameter, text: str | None) -> str | None:
    if text is not None and not text.strip():
        raise click.UsageError("--reason is empty")
    return text


def checked_duration(_: click.Context, option: click.Parameter, text: str | None) -> str | None:
    """Returns the text of an option. Raises click.UsageError if it is no duration."""
    from tui.orders.durations import BadDuration, milliseconds

    if text is not None:
        with usage_errors(BadDuration, prefix=f"{option.opts[0]}: "):
            milliseconds(text)
    return text


reason_option = click.option(
    "--reason",
    required=True,
    callback=_some_text,
    help="Reason. It is recorded, and shown to other operators.",
)
new_reason_option = click.option(
    "--reason", callback=_some_text, help="New reason. Default: the recorded reason stays."
)
confirmed_reason_option = click.option(
    "--reason",
    callback=_some_text,
    help="Reason, needed with --confirm. It is recorded, and shown to other operators.",
)
duration_option = click.option(
    "--for",
    "duration",
    metavar="DURATION",
    callback=checked_duration,
    help="Time after which the order ends by itself: 90s, 30m, 2h, 7d. It counts from now by this "
    "machine's clock, and ends by that of the process that follows the order. Default: it holds "
    "until the opposite command ends it: resume, release, unpin, include.",
)


def reason_options(command: Command) -> Command:
    """Adds --reason and --for, for commands whose orders may expire."""
    return reason_option(duration_option(command))


def answer_options(command: Command) -> Command:
    """Adds --timeout and --output, for balancing commands that contact servers."""
    return timeout_option(SERVER_SECONDS)(output_option(command))


def daemon_options(group: Command) -> Command:
    """Adds --config and --region to a group that is a daemon without a subcommand.

    Neither is required, because a subcommand may have them instead; see `check_daemon_options`.
    """
    region = click.option("--region", metavar="REGION", help="The region that the daemon is for.")
    return _config_option(is_required=False)(region(group))


def check_daemon_options(context: click.Context) -> None:
    """Raises MissingParameter unless the daemon has both --config and --region."""
    for name in ("config", "region"):
        if context.params[name] is None:
            raise click.MissingParameter(ctx=context, param_type="option", param_hint=f"'--{name}'")


def pass_on(group: click.Group, context: click.Context) -> None:
    """Makes options typed before a subcommand's name count for the subcommand as well.

    An option from the environment is not passed on: the subcommand reads the environment itself.
    """
    typed = {
        name: value
        for name, value in context.params.items()
        if context.get_parameter_source(name) is COMMAND_LINE
    }
    context.default_map = dict.fromkeys(group.commands, typed)


def typed_config_option() -> str:
    """Returns the --config option that a command suggested to the operator has to repeat.

    The result is empty when --config was not typed: the environment then names the configuration.
    """
    context = click.get_current_context(silent=True)
    if context is None or context.get_parameter_source("config") not in TYPED:
        return ""
    return f" --config {shlex.quote(context.params['config'])}"


@contextmanager
def usage_errors(*kinds: type[Exception], prefix: str = "") -> Iterator[None]:
    """Raises UsageError, with the same text after the prefix, for errors of these kinds."""
    try:
        yield
    except kinds as error:
        raise click.UsageError(f"{prefix}{error}") from None


def selected_routes(
    appliance: Appliance, region: str | None, route_names: Sequence[str]
) -> tuple[Route, ...]:
    """Returns the named routes or, without names, all routes into the region, or all routes.

    Raises:
        UsageError: a named route leads into another region.
        UnknownRegion: a region or a route is not configured.
    """
    routes = appliance.routes if region is None else appliance.routes_into(region)
    named = tuple(dict.fromkeys(appliance.route(name) for name in route_names))
    for route in named:
        if route not in routes:
            raise click.UsageError(f"route {route} does not lead into region {region}")
    return named or routes


def region_and_routes(
    appliance: Appliance, region: str | None, route_name: str | None
) -> tuple[str, tuple[Route, ...]]:
    """Returns the target region and the selected routes into it.

    Raises:
        UsageError: neither region nor route is given, or the route leads into another region.
        UnknownRegion: region or route is not configured, or no route leads into the region.
    """
    from replicator.config.topology import UnknownRegion

    if region is None:
        if route_name is None:
            raise click.UsageError("either --region or --route")
        region = appliance.route(route_name).target
    routes = selected_routes(appliance, region, [route_name] if route_name else [])
    if not routes:
        raise UnknownRegion(f"no route leads into {region!r}; add one to routes")
    return region, routes


def spark_options(command: Command) -> Command:
    """Adds --master and --conf, for daemons that run in Spark."""
    master = click.option(
        "--master",
        default="local[*,8]",
        show_default=True,
        help="Master URL of Spark. A plain local[*] never retries a task.",
    )
    conf = click.option(
        "--conf",
        "conf",
        metavar="KEY=VALUE",
        multiple=True,
        callback=_pairs,
        help="Spark setting, such as spark.executor.memory=1g; it overrides Sluice's own. "
        "Repeatable.",
    )
    return master(conf(command))


def _pairs(_: click.Context, option: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """Parses a repeated KEY=VALUE option. Raises BadParameter."""
    found = dict(value.partition("=")[::2] for value in values)
    if not all(key and setting for key, setting in found.items()):
        raise click.BadParameter("a setting is KEY=VALUE", param=option)
    return found
