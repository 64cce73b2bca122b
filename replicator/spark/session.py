"""Spark session of a daemon: small, quiet, and ended together with the daemon.

The JVM is a child in a process session of its own. So Ctrl-C or a signal to the daemon's process
group reaches the daemon alone, which then ends carriers gracefully. The JVM still ends with the
daemon, however the daemon ends: its standard input closes.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from subprocess import Popen, TimeoutExpired
from typing import Any

import pyspark
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway

from replicator.spark.archive_options import archive_options
from replicator.spark.authentication import split_secret
from replicator.spark.parent_watch import tell_daemon
from replicator.spark.slots import slots_at_most

log = logging.getLogger(__name__)

# local[*] alone never runs a failed task again.
MASTER = "local[*,8]"
JVM_EXIT_SECONDS = 5.0
# One collector thread and the quick compiler only: enough for a driver that mostly waits.
JVM_OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"

CONF = {
    "spark.app.name": "sluice",
    "spark.authenticate": "true",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "512m",
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": JVM_OPTIONS,
    "spark.speculation": "false",
    # A carrier's task fails for transient reasons. After so many failures Spark ends the whole
    # epoch.
    "spark.task.maxFailures": "8",
    # The driver runs for months in half a gigabyte, so Spark keeps little history.
    "spark.ui.retainedJobs": "10",
    "spark.ui.retainedStages": "10",
    "spark.ui.retainedTasks": "100",
    # The end of a stream kills tasks at once, so a short timeout is enough.
    "spark.python.task.killTimeout": "500ms",
    # Waits for all executors first, since bins are made for the task slots that exist.
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "15s",
}

# Fetched data and the batches made of it are megabytes each. glibc would map, zero and return each
# of them, a sixth of the work of opening batches (bench/batch_codec.py with and without).
MALLOC = {
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(128 << 20),
}

# Control characters, line separators, and the invisible characters of writing directions, in the
# syntax of a properties file (plain_text.py does the same for our own lines).
UNPRINTABLE = r"[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069]+"
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
"""

# Spark puts its own copy of pyspark first on the path of its Python processes: a zip, which each of
# a dozen processes compiles again. The installed copy is compiled: 0.25 instead of 1.15 CPU s.
SITE = """\
import os, sys
installed = os.path.dirname(os.environ["SPARK_HOME"])
if installed in sys.path:
    sys.path[:] = [path for path in sys.path if os.path.basename(path) != "pyspark.zip"]
"""


class SparkGone(Exception):
    """Spark has ended by itself: its JVM was killed or out of memory, or the cluster removed the
    application. Start again."""

    def __str__(self) -> str:
        return " ".join(str(self.__doc__).split())


class Session:
    """A running Spark with its JVM and its scratch folder.

    Args:
        master: Spark's master URL.
        folder: of this run; Spark's scratch files go here.
        conf: Spark settings that override ours.
        java_options: further options of the JVM; None: those of the class archive.
    """

    def __init__(
        self, master: str, folder: Path, conf: Mapping[str, str], java_options: str | None = None
    ):
        if java_options is None:
            java_options = archive_options()
        _prepare(master, folder)
        shown, secret = split_secret(master, {**_conf(folder, java_options), **conf})
        settings = SparkConf().setMaster(master).setAll(list(shown.items()))
        self._slots_at_most = slots_at_most(dict(settings.getAll()))
        gateway = launch_gateway(  # type: ignore[no-untyped-call]
            settings, {"start_new_session": True}
        )
        self._jvm: Popen[bytes] = gateway.proc
        self._gateway: Any = gateway
        # Every setting made before this line is on the JVM's command line, for everybody to see.
        settings.setAll(list(secret.items()))
        try:
            self.context = SparkContext(conf=settings, gateway=gateway)
        except BaseException:
            self.kill()
            raise
        # PySpark's accumulator server prints a traceback when the JVM ends. SparkGone says so.
        self.context._accumulatorServer.handle_error = lambda *_: None  # type: ignore[method-assign]
        log.info("event=spark-started master=%s jvm=%d", master, self._jvm.pid)

    def count_slots(self) -> int:
        """Returns how many tasks can run at once, at least 1, as executors come and go.

        Counted by executor, since Spark's own default parallelism is 2 on a single core. With
        dynamic allocation, executors that Spark may still add count too.
        """
        if self._slots_at_most:
            return self._slots_at_most
        try:
            executors: Any = self.context._jsc.sc().statusStore().executorList(True)
            cores = [int(executors.apply(at).totalCores()) for at in range(executors.size())]
        except Exception as error:
            if self.has_ended():
                raise SparkGone from error
            raise
        return max(1, sum(cores))

    @property
    def is_alive(self) -> bool:
        return self._jvm.poll() is None

    def has_ended(self) -> bool:
        """Returns True once no job can run any more. Blocking.

        The JVM outlives Spark where a cluster's master has removed the application, or Spark's
        scheduler has failed.
        """
        try:
            return not self.is_alive or bool(self.context._jsc.sc().isStopped())
        except Exception:  # a JVM that is about to end answers nothing
            return True

    def stop(self, seconds: float = JVM_EXIT_SECONDS) -> None:
        """Ends Spark and waits for its JVM; kills the JVM if it takes longer."""
        self.context.stop()
        self._gateway.shutdown()
        if self._jvm.stdin:
            self._jvm.stdin.close()
        try:
            self._jvm.wait(seconds)
        except TimeoutExpired:
            log.warning("event=spark-killed jvm=%d: it did not end by itself", self._jvm.pid)
            self.kill()

    def kill(self) -> None:
        """Kills the JVM at once; its Python workers end within seconds (parent_watch.py)."""
        with suppress(ProcessLookupError):
            os.killpg(self._jvm.pid, signal.SIGKILL)


def _prepare(master: str, folder: Path) -> None:
    """Sets the environment that the JVM and its Python workers inherit; silences other loggers.

    Variables that the operator has set stay.
    """
    tell_daemon(os.environ)
    paths = [str(Path(__file__).resolve().parents[2])]
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    for name, value in MALLOC.items():
        os.environ.setdefault(name, value)
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


def _conf(folder: Path, java_options: str) -> dict[str, str]:
    scratch = folder / "spark"
    scratch.mkdir(parents=True, exist_ok=True)
    log4j = folder / "log4j2.properties"
    log4j.write_text(LOG4J, encoding="utf-8")
    ours = f"-Djava.io.tmpdir={scratch} -Dlog4j2.configurationFile=file:{log4j}"
    elsewhere = {f"spark.executorEnv.{name}": os.environ[name] for name in MALLOC}
    return (
        CONF
        | elsewhere
        | {
            "spark.local.dir": str(scratch),
            "spark.driver.extraJavaOptions": f"{JVM_OPTIONS} {java_options} {ours}",
        }
    )
