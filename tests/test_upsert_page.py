"""docs/upsert.md has the constructs of queries, and what is taken and refused, as the code does."""

from __future__ import annotations

import os
import re
from pathlib import Path

from aggregator.upsert.seen_rows import VERSION_COLUMNS, VIRTUAL_COLUMNS
from aggregator.upsert.taken_statements import SETTINGS, TABLE_FUNCTIONS
from aggregator.upsert.user_query import OWN_NAMES
from tests.aggregator.upsert.constructs import CONSTRUCTS
from tests.tui.output.stored import REWRITE
from tui.commands.sql import sql

PATH = Path(__file__).parents[1] / "docs" / "upsert.md"
HEAD = "| construct | becomes | 18.16 | chdb 26.9 |\n|---|---|---|---|\n"


def construct_table() -> str:
    rows = [
        f"| {each.name} | {each.form} | {'yes' if each.old else 'no'} | "
        f"{'yes' if each.new else 'no'} |\n"
        for each in CONSTRUCTS
    ]
    return HEAD + "".join(rows)


def test_the_page_has_the_table_of_constructs() -> None:
    """With REWRITE_SNAPSHOTS=1 the page gets the table of now."""
    page = PATH.read_text()
    found = re.search(re.escape(HEAD) + r"(\|.*\n)*", page)
    assert found
    if os.environ.get(REWRITE):
        PATH.write_text(page.replace(found[0], construct_table()))
    assert found[0] == construct_table()


def test_the_page_names_all_columns_settings_functions_and_options() -> None:
    page = PATH.read_text()
    names = [*VIRTUAL_COLUMNS, *VERSION_COLUMNS, *SETTINGS, *TABLE_FUNCTIONS]
    names += [name for name in OWN_NAMES if name != "_ends"]
    assert [name for name in names if f"`{name}`" not in page] == []
    options = {name for each in sql.params for name in each.opts if name.startswith("--")}
    ordinary = {"--config", "--feed", "--output"}
    assert [name for name in options - ordinary if name not in page] == []
