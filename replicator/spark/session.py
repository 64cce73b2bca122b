"""Spark session of a daemon: small, quiet, and ended together with the daemon."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from pyspark import SparkContext

from replicator.spark.jvm import Jvm
from replicator.spark.slots import QUERY_TASKS, slots_at_most, slots_of_epochs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

JVM_EXIT_SECONDS = 5.0


class SparkGone(Exception):
    """Spark has ended by itself: its JVM was killed or out of memory, or the cluster removed the
    application. Start again."""

    def __str__(self) -> str:
        return " ".join(str(self.__doc__).split())


class Session:
    """A running Spark, in a JVM that may still be starting.

    Raises what PySpark raises; the JVM is killed then.
    """

    def __init__(self, jvm: Jvm):
        gateway = jvm.gateway()
        settings = jvm.settings()
        self._jvm = jvm
        self._slots_at_most = slots_at_most(dict(settings.getAll()))
        self._query_tasks = int(settings.get(QUERY_TASKS) or 0)
        try:
            self.context = SparkContext(conf=settings, gateway=gateway)
        except BaseException:
            jvm.kill()
            raise
        # PySpark's accumulator server prints a traceback when the JVM ends. SparkGone says so.
        self.context._accumulatorServer.handle_error = lambda *_: None  # type: ignore[method-assign]
        log.info("event=spark-started master=%s jvm=%d", jvm.master, jvm.pid)

    def count_slots(self) -> int:
        """Returns how many tasks an epoch can run at once, at least 1, as executors come and go.

        Slots of streaming queries are left out (slots_of_epochs). With dynamic allocation,
        executors that Spark may still add count too.
        """
        return slots_of_epochs(self._count_all_slots(), self._query_tasks)

    def sql(self) -> SparkSession:
        """Returns Spark's SQL engine, which the first call starts: 3 CPU s."""
        from pyspark.sql import SparkSession

        return SparkSession(self.context)

    def _count_all_slots(self) -> int:
        """Counted by executor, since Spark's own default parallelism is 2 on a single core."""
        if self._slots_at_most:
            return self._slots_at_most
        try:
            executors: Any = self.context._jsc.sc().statusStore().executorList(True)
            cores = [int(executors.apply(at).totalCores()) for at in range(executors.size())]
        except Exception as error:
            if self.has_ended():
                raise SparkGone from error
            raise
        return sum(cores)

    def has_ended(self) -> bool:
        """Returns True once no job can run any more. Blocking.

        The JVM outlives Spark where a cluster's master has removed the application, or Spark's
        scheduler has failed.
        """
        try:
            return not self._jvm.is_alive or bool(self.context._jsc.sc().isStopped())
        except Exception:  # a JVM that is about to end answers nothing
            return True

    def stop(self, seconds: float = JVM_EXIT_SECONDS) -> None:
        """Ends Spark and waits for its JVM; kills the JVM if it takes longer."""
        self.context.stop()
        self._jvm.end(seconds)
