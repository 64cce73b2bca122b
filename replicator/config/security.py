"""Security settings of one Kafka cluster: plaintext or TLS, with or without SASL.

Secrets stand in files of their own, never in the configuration. The clients of replicator.kafka
read passwords and certificates whenever they make a connection, so a changed file counts from the
next connection on. Clients with connections of their own (aiokafka's producer of runs, librdkafka)
keep what they read when they were made. A carrier's clients are made anew with each epoch; the
daemon's OffsetKeeper needs a restart. Admin reads the files anew once it is not let in any more,
and a topic tailer whenever it begins anew.
"""

import os
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationInfo, model_validator

from replicator.config.mistakes import raise_if_any

LIBRDKAFKA_PROTOCOLS = {
    "plaintext": "PLAINTEXT",
    "tls": "SSL",
    "sasl_plaintext": "SASL_PLAINTEXT",
    "sasl_tls": "SASL_SSL",
}


def beside_the_file(path: Path, info: ValidationInfo) -> Path:
    """Returns a path as the file means it: relative to the directory of the file."""
    directory = (info.context or {}).get("directory")
    return path if directory is None else Path(directory) / path


def readable(path: Path, info: ValidationInfo) -> Path:
    """Returns the path, relative to the file's directory; raises ValueError if unreadable."""
    path = beside_the_file(path, info)
    try:
        exists = path.exists()
    except OSError as error:
        raise ValueError(f"cannot be looked at: {path} ({error.strerror})") from None
    if not exists:
        raise ValueError(f"no such file: {path}")
    if not path.is_file():
        raise ValueError(f"not a file: {path}")
    if not os.access(path, os.R_OK):
        raise ValueError(f"not readable by this user: {path}")
    return path


def holding_a_secret(path: Path, info: ValidationInfo) -> Path:
    """Returns the path of a readable file with a secret in it; raises ValueError otherwise."""
    path = readable(path, info)
    try:
        secret = read_secret(path)
    except UnicodeDecodeError:
        raise ValueError(f"the file is not UTF-8 text: {path}") from None
    if not secret:
        raise ValueError(f"the file is empty: {path}")
    return path


def read_secret(path: Path) -> str:
    """Returns the first line of a secret's file, without its end of line."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return lines[0] if lines else ""


ReadableFile = Annotated[Path, AfterValidator(readable)]
SecretFile = Annotated[Path, AfterValidator(holding_a_secret)]


class Security(BaseModel):
    """Security settings of a cluster, from its [....security] table."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    protocol: Literal["plaintext", "tls", "sasl_plaintext", "sasl_tls"] = "plaintext"
    ca_file: ReadableFile | None = None
    """PEM certificates that sign the brokers' own; without it the system's are trusted."""
    certificate_file: ReadableFile | None = None
    """PEM certificate that this client shows (mutual TLS)."""
    key_file: ReadableFile | None = None
    """PEM key of certificate_file."""
    mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] | None = None
    username: str | None = None
    password_file: SecretFile | None = None
    """File whose first line is the password."""

    @property
    def is_tls(self) -> bool:
        return self.protocol in ("tls", "sasl_tls")

    @property
    def is_sasl(self) -> bool:
        return self.protocol in ("sasl_plaintext", "sasl_tls")

    def password(self) -> str | None:
        return read_secret(self.password_file) if self.password_file else None

    def ssl_context(self) -> ssl.SSLContext | None:
        """Returns the context for asyncio connections; None without TLS.

        Raises OSError on files that are not PEM.
        """
        if not self.is_tls:
            return None
        context = ssl.create_default_context(cafile=self.ca_file)
        if self.certificate_file:
            context.load_cert_chain(self.certificate_file, self.key_file)
        return context

    def aiokafka_options(self) -> dict[str, Any]:
        """Returns keyword arguments for kafka.connection and aiokafka's clients alike."""
        options: dict[str, Any] = {"security_protocol": LIBRDKAFKA_PROTOCOLS[self.protocol]}
        if self.is_tls:
            options["ssl_context"] = self.ssl_context()
        if self.is_sasl:
            options["sasl_mechanism"] = self.mechanism
            options["sasl_plain_username"] = self.username
            options["sasl_plain_password"] = self.password()
        return options

    def librdkafka_options(self) -> dict[str, Any]:
        """Returns configuration keys for confluent_kafka."""
        options: dict[str, Any] = {"security.protocol": LIBRDKAFKA_PROTOCOLS[self.protocol]}
        files = {
            "ssl.ca.location": self.ca_file,
            "ssl.certificate.location": self.certificate_file,
            "ssl.key.location": self.key_file,
        }
        if self.is_tls:
            options |= {key: str(path) for key, path in files.items() if path}
        if self.is_sasl:
            options["sasl.mechanisms"] = self.mechanism
            options["sasl.username"] = self.username
            options["sasl.password"] = self.password()
        return options

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        raise_if_any(list(self._contradictions()) or self._unusable_files())
        return self

    def _contradictions(self) -> Iterator[tuple[str, str]]:
        if self.is_sasl and self.username == "":
            yield "username", "is empty"
        for key in ("mechanism", "username", "password_file"):
            is_set = getattr(self, key) is not None
            if self.is_sasl and not is_set:
                yield key, f"is missing; protocol {self.protocol!r} needs it"
            if is_set and not self.is_sasl:
                text = f"has no meaning with protocol {self.protocol!r}; use sasl_tls, or remove it"
                yield key, text
        for key in ("ca_file", "certificate_file", "key_file"):
            if not self.is_tls and getattr(self, key) is not None:
                text = f"has no meaning with protocol {self.protocol!r}; use tls, or remove it"
                yield key, text
        if self.is_tls and (self.certificate_file is None) != (self.key_file is None):
            missing = "certificate_file" if self.certificate_file is None else "key_file"
            yield missing, "is missing; certificate_file and key_file go together"

    def _unusable_files(self) -> Iterator[tuple[str, str]]:
        if not self.is_tls:
            return
        try:
            ssl.create_default_context(cafile=self.ca_file)
        except OSError as error:
            yield "ca_file", f"holds no PEM certificate: {self.ca_file} ({error})"
        if self.certificate_file:
            try:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                # Without a password, OpenSSL would ask at the terminal for that of an encrypted
                # key.
                context.load_cert_chain(self.certificate_file, self.key_file, password=lambda: "")
            except (OSError, ValueError) as error:
                yield "certificate_file", f"not a PEM certificate with its key ({error})"
