"""sluice upsert: tables that keep one row per key, the newest."""

from __future__ import annotations

import click

from tui.commands.upsert_create import create
from tui.commands.upsert_orders import accept_loss, rotate, settle
from tui.commands.upsert_status import events, status
from tui.commands.upsert_verify import verify


@click.group()
def upsert() -> None:
    """Look after upsert tables: one row per key, the newest. See docs/upsert.md."""


for command in (create, status, events, settle, rotate, verify, accept_loss):
    upsert.add_command(command)
