"""Process of the modern Kafka engine: creates its tables, then writes down how many rows they have.

python -m bench.modern_engine_process '{"folder": ...}'
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

# The type checker of `make check` does without the rivals' libraries.
chdb: Any = import_module("chdb.session")

COUNT_SECONDS = 0.1


def main(told: Mapping[str, Any]) -> None:
    """Loads until killed."""
    # A config.xml of the current folder would be read.
    os.chdir(told["folder"])
    session = chdb.Session(str(Path(told["folder"]) / "data"))
    session.query("CREATE DATABASE IF NOT EXISTS bench ENGINE = Atomic")
    session.query("USE bench")
    for query in told["queries"]:
        try:
            session.query(query)
        except RuntimeError as error:
            # It says code 49 about Kafka tables, which are there all the same.
            print(f"{query}: {error}", file=sys.stderr, flush=True)
    names = ", ".join(f"'{table}'" for table in told["tables"])
    count = (
        "SELECT sum(rows) FROM system.parts "
        f"WHERE active AND database = 'bench' AND table IN ({names})"
    )
    counted = Path(told["counted"])
    while True:
        part = counted.with_suffix(".part")
        part.write_text(str(session.query(count, "TSV")).strip())
        part.replace(counted)
        time.sleep(COUNT_SECONDS)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
