"""Readers of a bucket's tree of Parquet objects, each in a process of its own.

    python -m tests.live.tree_readers ENGINE TOLD

TOLD is a file of JSON: where the bucket is, the statements of the set-up, and the queries. Their
rows are the last line of the output, as JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.live.loader_process import CHECKOUT

SECONDS = 240.0

Rows = list[list[Any]]


@dataclass(frozen=True)
class Tree:
    """Bucket `air` of an object server.

    Args:
        host: with the port.
        directory: of the bucket's objects, as plain files.
    """

    host: str
    access_key: str
    secret_key: str
    directory: str


def read(
    engine: str, tree: Tree, folder: Path, set_up: Sequence[str], queries: Sequence[str]
) -> list[Rows]:
    """Returns the rows of each query."""
    told = folder / f"{engine}.json"
    told.write_text(json.dumps([asdict(tree), list(set_up), list(queries)]))
    done = subprocess.run(
        [sys.executable, "-m", "tests.live.tree_readers", engine, str(told)],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found: list[Rows] = json.loads(done.stdout.splitlines()[-1])
    return found


def duckdb_rows(tree: Tree, set_up: Sequence[str], queries: Sequence[str]) -> list[Rows]:
    """Reads by Arrow's client of S3: DuckDB's own, httpfs, is not in its wheel."""
    import duckdb
    from fsspec.implementations.arrow import ArrowFSWrapper
    from pyarrow.fs import S3FileSystem

    class S3(ArrowFSWrapper):  # type: ignore[misc]
        protocol = "s3"

    client = S3FileSystem(
        access_key=tree.access_key,
        secret_key=tree.secret_key,
        endpoint_override=tree.host,
        scheme="http",
    )
    with duckdb.connect() as connection:
        connection.register_filesystem(S3(client))
        return [[*map(list, connection.sql(query).fetchall())] for query in queries]


def spark_rows(tree: Tree, set_up: Sequence[str], queries: Sequence[str]) -> list[Rows]:
    """Reads the server's plain files: Spark's client of S3 is not in its wheel."""
    from pyspark.sql import SparkSession

    mounts = "spark.hadoop.fs.viewfs"
    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
        # Few rows: compiling takes longer than what it saves.
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1")
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.adaptive.enabled", "false")
        .config(
            "spark.hadoop.fs.s3a.impl", "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme"
        )
        .config(
            f"{mounts}.overload.scheme.target.file.impl", "org.apache.hadoop.fs.LocalFileSystem"
        )
        .config(f"{mounts}.mounttable.air.link./topics", Path(tree.directory, "topics").as_uri())
        .getOrCreate()
    )
    try:
        return [[list(row) for row in spark.sql(query).collect()] for query in queries]
    finally:
        spark.stop()


def clickhouse_rows(tree: Tree, set_up: Sequence[str], queries: Sequence[str]) -> list[Rows]:
    """Reads by ClickHouse's own client of S3."""
    from chdb.session import Session

    session = Session()
    for statement in set_up:
        session.query(statement)
    found = (str(session.query(query, "JSONCompact")) for query in queries)
    return [json.loads(text)["data"] for text in found]


READERS = {"duckdb": duckdb_rows, "spark": spark_rows, "clickhouse": clickhouse_rows}


if __name__ == "__main__":
    where, before, asked = json.loads(Path(sys.argv[2]).read_text())
    print(json.dumps(READERS[sys.argv[1]](Tree(**where), before, asked)))
