"""S3Proxy of the lab: another store than versitygw. Its objects are files in a directory, too."""

from __future__ import annotations

from pathlib import Path

from typing_extensions import override

from deploy.lab.kafka import java_program
from deploy.lab.object_server import ACCESS_KEY, SECRET_KEY, ObjectServer
from deploy.lab.process import Process

LIBRARIES = Path(__file__).parents[2] / ".lab" / "s3proxy" / "libs"
PROPERTIES = """
s3proxy.endpoint=http://127.0.0.1:{port}
s3proxy.authorization=aws-v2-or-v4
s3proxy.identity={access_key}
s3proxy.credential={secret_key}
jclouds.provider=filesystem-nio2
jclouds.filesystem.basedir={objects}
"""
LOGGING = """
<configuration>
  <appender name="out" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%d %level %msg%n</pattern></encoder>
  </appender>
  <root level="WARN"><appender-ref ref="out"/></root>
</configuration>
"""


class S3Proxy(ObjectServer):
    """An S3Proxy on a free port of 127.0.0.1, with objects that outlive it."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, name="s3proxy")

    @override
    def start(self) -> None:
        self.objects.mkdir(parents=True, exist_ok=True)
        logging = self.directory / "logback.xml"
        logging.write_text(LOGGING)
        properties = self.directory / "s3proxy.properties"
        properties.write_text(
            PROPERTIES.format(
                port=self.port, access_key=ACCESS_KEY, secret_key=SECRET_KEY, objects=self.objects
            )
        )
        self._process = Process(
            self.name,
            [
                java_program(),
                "-Xmx256m",
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                f"-Dlogback.configurationFile={logging}",
                "-cp",
                f"{LIBRARIES}/*",
                "org.gaul.s3proxy.Main",
                "--properties",
                str(properties),
            ],
            self.directory / "s3proxy.log",
        )
