"""Real Kafka clusters on this machine: KRaft nodes from the jars that the setup put into .lab."""

import base64
import os
import shlex
import shutil
import signal
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from deploy.lab.broker_properties import Node, node_properties
from deploy.lab.credentials import Credentials, Mechanism, Protocol
from deploy.lab.process import NotStarted, Process, free_port
from deploy.lab.wait import until

CHECKOUT = Path(__file__).resolve().parents[2]
LIBS = CHECKOUT / ".lab" / "kafka" / "libs"
# Class data of a broker that ran once, written by `python -m deploy.lab archive`. With it
# and with the metadata below a start takes 1.4 s of a core instead of 3.8 s in live tests.
ARCHIVE = CHECKOUT / ".lab" / "kafka" / "broker.jsa"
# First metadata of a cluster without secrets, as the storage tool wrote it for that broker: the
# features and their versions. Copied, it spares each node the JVM of the tool.
FIRST_METADATA = ARCHIVE.with_name("bootstrap.checkpoint")

CONTROLLER_NUMBER = 100

JAVA_OPTIONS_VARIABLE = "SLUICE_LAB_JAVA_OPTIONS"
"""Environment variable with further options of every broker's JVM, split as a shell would."""

LOG4J = """\
<Configuration status="ERROR">
  <Appenders>
    <File name="log" fileName="${sys:sluice.log}">
      <PatternLayout pattern="%d %p %m (%c)%n"/>
    </File>
  </Appenders>
  <Loggers><Root level="WARN"><AppenderRef ref="log"/></Root></Loggers>
</Configuration>
"""


class KafkaCluster:
    """A cluster: one node that is broker and controller, or N brokers and a separate controller.

    With several brokers the controller is a node of its own, so any broker may be killed. Nodes are
    numbered from 1. `properties` go into every node's server.properties and override the lab's own.
    A detached cluster outlives this process; any other ends with the thread that started it. Use as
    a context manager, or start(), wait_ready(), stop().
    """

    def __init__(
        self,
        name: str,
        directory: Path,
        *,
        brokers: int = 1,
        properties: Mapping[str, object] | None = None,
        security: Protocol = "plaintext",
        mechanism: Mechanism = "PLAIN",
        client_certificates: bool = False,
        detached: bool = False,
        java_options: Sequence[str] | None = None,
    ) -> None:
        self.name = name
        self.directory = directory / name
        self.properties = {key: _property(value) for key, value in (properties or {}).items()}
        self.credentials = Credentials(
            directory=self.directory / "credentials",
            protocol=security,
            mechanism=mechanism,
            client_certificates=client_certificates,
        )
        self.nodes = _nodes(brokers)
        self.brokers = tuple(node.number for node in self.nodes if node.is_broker)
        # All brokers, in the form of librdkafka's bootstrap.servers.
        self.bootstrap = ",".join(
            f"127.0.0.1:{node.client_port}" for node in self.nodes if node.is_broker
        )
        self.processes: dict[int, Process] = {}
        self._cluster_id = _new_id()
        self._detached = detached
        if java_options is None:
            java_options = shlex.split(os.environ.get(JAVA_OPTIONS_VARIABLE, ""))
        self._java_options = tuple(java_options)

    def __enter__(self) -> "KafkaCluster":
        self.start()
        try:
            self.wait_ready()
        except BaseException:
            self.kill_all()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def topology_table(self) -> dict[str, object]:
        """Returns this cluster as a table of appliance.toml."""
        table: dict[str, object] = {"bootstrap": self.bootstrap.split(",")}
        if self.credentials.protocol != "plaintext":
            table["security"] = self.credentials.security_table()
        return table

    def librdkafka_options(self) -> dict[str, str]:
        """Returns the basic options of every confluent_kafka client of this cluster."""
        return {"bootstrap.servers": self.bootstrap, **self.credentials.librdkafka_options()}

    def admin(self) -> AdminClient:
        """Returns an admin client that quickly notices a starting broker."""
        return AdminClient(
            {
                **self.librdkafka_options(),
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 200,
                "log_level": 0,
            }
        )

    def create_topics(self, *topics: NewTopic, timeout_seconds: float = 60.0) -> None:
        """Creates topics, and returns once a broker shows them with leaders. Raises KafkaException.

        The answer comes from the controller. For a while after it a busy broker refuses records and
        offset commits of a topic that it does not know yet.
        """
        admin = self.admin()
        for made in admin.create_topics(list(topics)).values():
            made.result(timeout_seconds)
        names = {topic.topic for topic in topics}

        def are_shown() -> bool:
            shown = admin.list_topics(timeout=timeout_seconds).topics
            found = [shown[name].partitions for name in names if name in shown]
            leaders = [each.leader for parts in found for each in parts.values()]
            return len(found) == len(names) and all(leader >= 0 for leader in leaders)

        if not until(are_shown, timeout_seconds):
            raise NotStarted(f"{self.name} does not show its new topics {sorted(names)}")

    def start(self) -> None:
        """Starts all nodes without waiting. Start several clusters first, then wait for each."""
        if not any(LIBS.glob("kafka-server-*.jar")):
            raise NotStarted(f"no Kafka jars in {LIBS}: run deploy/setup.sh first")
        self.credentials.write()
        for node in self.nodes:
            self._start(node)

    def wait_ready(self, timeout_seconds: float = 60.0) -> None:
        """Waits until every started broker is part of the cluster. Raises NotStarted."""
        admin = self.admin()

        def are_all_in() -> bool:
            for process in self.processes.values():
                if not process.is_running():
                    raise process.failure("has ended")
            try:
                return set(admin.list_topics(timeout=1.0).brokers) >= self._running_brokers()
            except KafkaException:
                return False

        if not until(are_all_in, timeout_seconds):
            raise next(iter(self.processes.values())).failure(
                f"and its cluster are not ready after {timeout_seconds} s"
            )

    def stop(self) -> None:
        """Asks all nodes to end, brokers before the controller."""
        for number in self.brokers:
            if number in self.processes:
                self.processes[number].terminate()
        for number in (*self.brokers, CONTROLLER_NUMBER):
            if number in self.processes:
                self.processes.pop(number).stop()

    def kill_all(self) -> None:
        """Ends all nodes at once, as a power cut would."""
        for number in list(self.processes):
            self.kill(number)

    def kill(self, number: int = 1) -> None:
        """Sends kill -9 to one node; its data stays for restart()."""
        self.processes.pop(number).kill()

    def restart(self, number: int = 1) -> None:
        """Stops the node if it runs, and starts it with its data; does not wait."""
        if number in self.processes:
            self.processes.pop(number).stop()
        self._start(next(node for node in self.nodes if node.number == number))

    def pause(self, number: int = 1) -> None:
        """Sends SIGSTOP: connections stay open, and the node does not answer."""
        self.processes[number].send(signal.SIGSTOP)

    def resume(self, number: int = 1) -> None:
        self.processes[number].send(signal.SIGCONT)

    def _running_brokers(self) -> set[int]:
        return {number for number in self.brokers if number in self.processes}

    def _start(self, node: Node) -> None:
        directory = self.directory / f"node-{node.number}"
        directory.mkdir(parents=True, exist_ok=True)
        properties = node_properties(
            node, self.nodes, self.credentials, str(directory / "data"), self.properties
        )
        (directory / "server.properties").write_text(
            "".join(f"{key}={value}\n" for key, value in properties.items())
        )
        (directory / "log4j2.xml").write_text(LOG4J)
        if FIRST_METADATA.exists() and not self.credentials.format_options():
            format_directory(directory / "data", node.number, self._cluster_id, FIRST_METADATA)
        self.processes[node.number] = Process(
            f"{self.name}-{node.number}",
            ["sh", "-c", self._script(node, directory)],
            directory / "output.log",
            detached=self._detached,
        )

    def _script(self, node: Node, directory: Path) -> str:
        """Returns a shell script: formats a new data directory, then becomes the broker (same
        pid)."""
        properties = str(directory / "server.properties")
        format_command = [
            *java_command(directory, heap_mib=256),
            "-XX:TieredStopAtLevel=1",
            "kafka.tools.StorageTool",
            "format",
            "--ignore-formatted",
            f"--cluster-id={self._cluster_id}",  # an id may begin with a dash
            *("--config", properties),
            *self.credentials.format_options(),
        ]
        heap_mib = 512 if node.is_broker else 256
        java = java_command(directory, heap_mib=heap_mib)
        run_command = [*java, *self._java_options, "kafka.Kafka", properties]
        run = f"exec {shlex.join(run_command)}"
        if (directory / "data" / "meta.properties").exists():
            return run
        return f"{shlex.join(format_command)} && {run}"


def format_directory(data: Path, node: int, cluster_id: str, first_metadata: Path) -> None:
    """Formats the data directory of a node as the storage tool does, unless it is formatted.

    Source: MetaProperties (version 1) and BootstrapDirectory of Kafka 4.

    Args:
        first_metadata: what the tool wrote for another cluster of this version of Kafka.
    """
    file = data / "meta.properties"
    if file.exists():
        return
    data.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(first_metadata, data / FIRST_METADATA.name)
    ids = {"cluster": cluster_id, "node": node, "directory": _new_id()}
    lines = ["version=1", *(f"{of}.id={value}" for of, value in ids.items())]
    file.write_text("".join(f"{line}\n" for line in lines))


def java_program() -> str:
    """Returns the Java of JAVA_HOME, or that of the path."""
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else "java"


def java_command(directory: Path, *, heap_mib: int) -> list[str]:
    """Returns Java with Kafka's classes; the caller appends the main class and its arguments.

    `directory` holds log4j2.xml and gets kafka.log.
    """
    # Listed one by one in a fixed order: an archive is valid for exactly one class path.
    class_path = ":".join(map(str, sorted(LIBS.glob("*.jar"))))
    shared = [f"-XX:SharedArchiveFile={ARCHIVE}"] if ARCHIVE.exists() else []
    return [
        java_program(),
        *shared,
        "-Xlog:disable",
        f"-Xmx{heap_mib}m",
        "-Xms128m",
        f"-Dlog4j2.configurationFile={directory / 'log4j2.xml'}",
        f"-Dsluice.log={directory / 'kafka.log'}",
        "-cp",
        class_path,
    ]


def _nodes(brokers: int) -> tuple[Node, ...]:
    if brokers == 1:
        return (Node(1, True, True, free_port(), free_port(), free_port()),)
    controller = Node(CONTROLLER_NUMBER, False, True, controller_port=free_port())
    return (
        controller,
        *(Node(number, True, False, free_port(), free_port()) for number in range(1, brokers + 1)),
    )


def _new_id() -> str:
    """Returns a random id in Kafka's form."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


def _property(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
