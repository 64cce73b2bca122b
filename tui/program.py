"""The `sluice` program: finds the command and turns its result into an exit code."""

import sys
import traceback
from collections.abc import Sequence
from importlib import import_module

import click

from replicator.runtime.left_out import leave_out_pandas
from tui.commands.exit_codes import ExitCode, exit_code_help, exit_code_of
from tui.commands.output import say
from tui.commands.text import joined

COMMANDS = {
    "accept-loss": "tui.commands.accept_loss:accept_loss",
    "aggregate": "tui.commands.aggregate:aggregate",
    "alerts": "tui.commands.alerts:alerts",
    "audit": "tui.commands.audit:audit",
    "balance": "tui.commands.balance:balance",
    "config": "tui.commands.config:config",
    "console": "tui.commands.console:console",
    "doctor": "tui.commands.doctor:doctor",
    "failover": "tui.commands.failover:failover",
    "offsets": "tui.commands.offsets:offsets",
    "groups": "tui.commands.groups:groups",
    "record": "tui.commands.record:record",
    "restore": "tui.commands.restore:restore",
    "replicate": "tui.commands.replicate:replicate",
    "sql": "tui.commands.sql:sql",
    "status": "tui.commands.status:status",
    "stream": "tui.commands.stream:stream",
    "switchover": "tui.commands.switchover:switchover",
    "upsert": "tui.commands.upsert:upsert",
    "verify": "tui.commands.verify:verify",
}
INTERRUPTED = 130


class Commands(click.Group):
    """Group that imports a command's module only when the command or the help is requested."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module, attribute = COMMANDS[name].split(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command


@click.group(
    cls=Commands,
    epilog=f"\b\nExit codes:\n{exit_code_help()}\n",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="sluice", prog_name="sluice")
@click.option("--debug", is_flag=True, help="Print the traceback of an error.")
def program(debug: bool) -> None:
    """Multi-region Kafka replication: every record in every region, exactly once."""


def main() -> None:
    """Runs the program with the arguments of the process, then exits."""
    leave_out_pandas()
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Runs the program and returns its exit code. All output is printed by then."""
    try:
        result = program.main(list(arguments), prog_name="sluice", standalone_mode=False)
    except click.exceptions.Exit as request:
        return request.exit_code
    except click.ClickException as error:
        error.show()
        return ExitCode.USAGE
    except (click.Abort, KeyboardInterrupt):
        say("interrupted")
        return INTERRUPTED
    except Exception as error:
        return report(error, is_debug="--debug" in arguments)
    return result if isinstance(result, int) else ExitCode.DONE


def report(error: Exception, is_debug: bool) -> int:
    """Prints an error, with the traceback only if `is_debug`, and returns its exit code.

    An error takes one line; mistakes of a configuration take a line each.
    """
    if is_debug:
        traceback.print_exception(error)
    code = exit_code_of(error)
    if code is not None:
        # Only here newlines are kept: configuration mistakes are a list of the operator's texts.
        texts = str(error).split("\n") if code is ExitCode.USAGE else [str(error)]
        click.echo(f"sluice: {joined(texts)}", err=True)
        return code
    hint = "" if is_debug else " (sluice --debug ... shows where)"
    say(f"unexpected {type(error).__name__}: {str(error) or 'no message'}{hint}")
    return ExitCode.FAILED


if __name__ == "__main__":
    main()
