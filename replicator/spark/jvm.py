"""JVM of a Spark driver, launched first in a start, as it takes longer than all else of it.

The JVM is a child in a process session of its own. So Ctrl-C or a signal to the daemon's process
group reaches the daemon alone, which then ends carriers gracefully. The JVM still ends with the
daemon, however the daemon ends: its standard input closes.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from subprocess import TimeoutExpired
from typing import Any

import pyspark
from pyspark import SparkConf
from pyspark.java_gateway import launch_gateway

from replicator.runtime.run_in_thread import THREADS
from replicator.spark import worker_starter
from replicator.spark.archive_options import archive_options
from replicator.spark.authentication import split_secret
from replicator.spark.parent_watch import tell_daemon
from replicator.spark.slots import QUERY_TASKS

log = logging.getLogger(__name__)

# local[*] alone never runs a failed task again.
MASTER = "local[*,8]"
# One collector thread and the quick compiler only: enough for a driver that mostly waits.
JVM_OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
# Each row of a streaming query passes through the JVM, where the second compiler pays: for what is
# called once per row, not for what is called some thousand times per batch. It costs 8 CPU s of the
# first 35 000 rows, and saves 27 of each million; higher thresholds save nothing of the 8 (decision
# 0104).
QUERY_JVM_OPTIONS = " ".join(
    (
        "-XX:+UseSerialGC",
        "-XX:MetaspaceSize=192m",
        "-XX:Tier4InvocationThreshold=50000",
        "-XX:Tier4MinInvocationThreshold=6000",
        "-XX:Tier4CompileThreshold=150000",
        "-XX:Tier4BackEdgeThreshold=400000",
    )
)

CONF = {
    "spark.app.name": "sluice",
    "spark.authenticate": "true",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "512m",
    "spark.executor.memory": "512m",
    "spark.speculation": "false",
    # A carrier's task fails for transient reasons. After so many failures Spark ends the whole
    # epoch.
    "spark.task.maxFailures": "8",
    # The driver runs for months in half a gigabyte, so Spark keeps little history.
    "spark.ui.retainedJobs": "10",
    "spark.ui.retainedStages": "10",
    "spark.ui.retainedTasks": "100",
    "spark.python.daemon.module": worker_starter.__name__,
    # The end of epochs kills tasks at once, so a short timeout is enough.
    "spark.python.task.killTimeout": "500ms",
    # Waits for all executors first, since tasks are made for the slots that exist.
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "15s",
}

# Environment of Python workers.
WORKERS = {
    # Fetched data and the batches made of it are megabytes each. glibc would map, zero and return
    # each of them, a sixth of the work of opening batches (bench/batch_codec.py with and without).
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(128 << 20),
    # Nothing here multiplies matrices: numpy needs no threads, and a process that forks has none.
    "OPENBLAS_NUM_THREADS": "1",
}

# Control characters, line separators, and the invisible characters of writing directions, in the
# syntax of a properties file (plain_text.py does the same for our own lines).
UNPRINTABLE = r"[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069]+"
# RocksDB asks Spark's logger which messages to hand to Java. While a JVM exits, which removes the
# files that RocksDB writes, a warning of RocksDB's own thread waits for the JVM, which waits for
# that thread: the JVM would outlive its daemon, with all its memory.
LOG4J = f"""\
rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = \
%d{{yyyy-MM-dd'T'HH:mm:ss.SSS}}{{UTC}}Z level=%p from=spark.%c{{1}} \
%replace{{%m}}{{{UNPRINTABLE}}}{{ }}%ex{{0}}%n
logger.native.name = org.apache.hadoop.util.NativeCodeLoader
logger.native.level = error
logger.conf.name = org.apache.spark.SparkConf
logger.conf.level = error
logger.dag.name = org.apache.spark.scheduler.DAGScheduler
logger.dag.level = error
logger.pools.name = org.apache.spark.scheduler.FairSchedulableBuilder
logger.pools.level = error
logger.rocksdb.name = org.apache.spark.sql.execution.streaming.state.RocksDB
logger.rocksdb.level = error
logger.adaptive.name = org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution
logger.adaptive.level = error
"""

# Spark puts its own copy of pyspark first on the path of its Python processes: a zip, which each of
# a dozen processes compiles again. The installed copy is compiled: 0.25 instead of 1.15 CPU s.
SITE = """\
import os, sys
installed = os.path.dirname(os.environ["SPARK_HOME"])
if installed in sys.path:
    sys.path[:] = [path for path in sys.path if os.path.basename(path) != "pyspark.zip"]
"""


class Jvm:
    """A JVM that is launched in a thread of its own, beside the caller's work.

    As a context manager it ends with the block.

    Args:
        master: Spark's master URL.
        folder: of this run; Spark's scratch files go here.
        conf: Spark settings that override ours.
        imports: modules that the Python workers need (see worker_starter.py).
        java_options: further options of the JVM; None: those of the class archive.
        launch: launches the JVM and waits for it.

    Raises:
        NoSecret: the cluster needs a secret, and none is given.
    """

    def __init__(
        self,
        master: str,
        folder: Path,
        conf: Mapping[str, str],
        imports: Iterable[str] = (),
        java_options: str | None = None,
        launch: Callable[..., Any] = launch_gateway,
    ) -> None:
        if java_options is None:
            java_options = archive_options()
        _prepare(master, folder, imports)
        ours = _conf(folder, java_options, has_queries=QUERY_TASKS in conf)
        shown, self._secret = split_secret(master, {**ours, **conf})
        self.master = master
        self._settings = SparkConf().setMaster(master).setAll(list(shown.items()))
        self._gateway = THREADS.submit(launch, self._settings, {"start_new_session": True})

    def __enter__(self) -> Jvm:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def gateway(self) -> Any:
        """Waits for the JVM; returns the gateway to its objects. Raises what PySpark raises."""
        return self._gateway.result()

    def settings(self) -> SparkConf:
        """Returns all settings of Spark, for use once the JVM is there: its command line, which
        everybody sees, has those that are no secret."""
        self.gateway()
        return self._settings.setAll(list(self._secret.items()))

    @property
    def pid(self) -> int:
        return int(self.gateway().proc.pid)

    @property
    def is_alive(self) -> bool:
        return self._is_launched and self.gateway().proc.poll() is None

    def end(self, seconds: float) -> None:
        """Ends the JVM, once Spark has stopped; kills it if that takes longer."""
        gateway = self.gateway()
        gateway.shutdown()
        if gateway.proc.stdin:
            gateway.proc.stdin.close()
        try:
            gateway.proc.wait(seconds)
        except TimeoutExpired:
            log.warning("event=spark-killed jvm=%d: it did not end by itself", self.pid)
            self.kill()

    def kill(self) -> None:
        """Kills the JVM at once; its Python workers end within seconds (parent_watch.py).

        One that is still being launched ends by itself with this process.
        """
        if self.is_alive:
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)

    @property
    def _is_launched(self) -> bool:
        return self._gateway.done() and self._gateway.exception() is None


def _prepare(master: str, folder: Path, imports: Iterable[str]) -> None:
    """Sets the environment that the JVM and its Python workers inherit; silences other loggers.

    Variables that the operator has set stay.
    """
    tell_daemon(os.environ)
    paths = [str(Path(__file__).resolve().parents[2])]
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    for name, value in WORKERS.items():
        os.environ.setdefault(name, value)
    os.environ[worker_starter.IMPORTS] = " ".join(imports)
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        # local-cluster starts its executors from there.
        home = str(Path(pyspark.__file__).parent)
        if os.environ.setdefault("SPARK_HOME", home) == home:
            site = folder / "site"
            site.mkdir(exist_ok=True)
            (site / "sitecustomize.py").write_text(SITE, encoding="utf-8")
            paths.insert(0, str(site))
    paths += filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(paths))
    # py4j's errors reach us as exceptions; its log would repeat them with tracebacks.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(lambda record: "py4j" not in record.pathname)


def _conf(folder: Path, java_options: str, *, has_queries: bool) -> dict[str, str]:
    scratch = folder / "spark"
    scratch.mkdir(parents=True, exist_ok=True)
    log4j = folder / "log4j2.properties"
    log4j.write_text(LOG4J, encoding="utf-8")
    ours = f"-Djava.io.tmpdir={scratch} -Dlog4j2.configurationFile=file:{log4j}"
    names = (*WORKERS, worker_starter.IMPORTS)
    elsewhere = {f"spark.executorEnv.{name}": os.environ[name] for name in names}
    options = QUERY_JVM_OPTIONS if has_queries else JVM_OPTIONS
    return (
        CONF
        | elsewhere
        | {
            "spark.local.dir": str(scratch),
            "spark.driver.extraJavaOptions": f"{options} {java_options} {ours}",
            "spark.executor.extraJavaOptions": options,
        }
    )
