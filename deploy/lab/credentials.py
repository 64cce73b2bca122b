"""Authentication of clients at a lab cluster: certificates and passwords, generated on the spot."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Protocol = Literal["plaintext", "tls", "sasl_plaintext", "sasl_tls"]
Mechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]

USERNAME = "sluice"
PASSWORD = "sluice-of-the-lab"

KAFKA_PROTOCOLS: dict[Protocol, str] = {
    "plaintext": "PLAINTEXT",
    "tls": "SSL",
    "sasl_plaintext": "SASL_PLAINTEXT",
    "sasl_tls": "SASL_SSL",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """Credentials that a cluster demands, and the files that hold them.

    `client_certificates`: the broker demands a certificate as well (mutual TLS).
    """

    directory: Path
    protocol: Protocol = "plaintext"
    mechanism: Mechanism = "PLAIN"
    client_certificates: bool = False

    @property
    def uses_tls(self) -> bool:
        return self.protocol in ("tls", "sasl_tls")

    @property
    def uses_sasl(self) -> bool:
        return self.protocol in ("sasl_plaintext", "sasl_tls")

    def write(self) -> None:
        """Writes certificates, keys and the password into the directory."""
        if self.protocol == "plaintext":
            return
        self.directory.mkdir(parents=True, exist_ok=True)
        if self.uses_sasl:
            (self.directory / "password").write_text(PASSWORD + "\n")
        if self.uses_tls:
            _write_certificates(self.directory)

    def broker_properties(self, listener: str) -> dict[str, str]:
        """Returns the broker's settings for its listener of this name."""
        prefix = f"listener.name.{listener.lower()}."
        properties: dict[str, str] = {}
        if self.uses_tls:
            properties |= {
                prefix + "ssl.keystore.type": "PEM",
                prefix + "ssl.keystore.location": str(self.directory / "broker.pem"),
                prefix + "ssl.truststore.type": "PEM",
                prefix + "ssl.truststore.location": str(self.directory / "ca.pem"),
                prefix + "ssl.client.auth": "required" if self.client_certificates else "none",
            }
        if self.uses_sasl:
            module, users = (
                ("plain.PlainLoginModule", f' user_{USERNAME}="{PASSWORD}"')
                if self.mechanism == "PLAIN"
                else ("scram.ScramLoginModule", "")
            )
            jaas = f"org.apache.kafka.common.security.{module} required{users};"
            properties |= {
                prefix + "sasl.enabled.mechanisms": self.mechanism,
                prefix + self.mechanism.lower() + ".sasl.jaas.config": jaas,
            }
        return properties

    def format_options(self) -> list[str]:
        """Returns options of the storage tool: SCRAM secrets are part of the cluster's metadata."""
        if not self.uses_sasl or self.mechanism == "PLAIN":
            return []
        return ["--add-scram", f"{self.mechanism}=[name={USERNAME},password={PASSWORD}]"]

    def security_table(self) -> dict[str, str]:
        """Returns the `security` table of a cluster in appliance.toml."""
        table: dict[str, str] = {"protocol": self.protocol}
        if self.uses_tls:
            table["ca_file"] = str(self.directory / "ca.pem")
            if self.client_certificates:
                table["certificate_file"] = str(self.directory / "client.pem")
                table["key_file"] = str(self.directory / "client.key")
        if self.uses_sasl:
            table["mechanism"] = self.mechanism
            table["username"] = USERNAME
            table["password_file"] = str(self.directory / "password")
        return table

    def librdkafka_options(self) -> dict[str, str]:
        """Returns the same settings for clients of confluent_kafka."""
        options = {"security.protocol": KAFKA_PROTOCOLS[self.protocol].lower()}
        if self.uses_tls:
            options["ssl.ca.location"] = str(self.directory / "ca.pem")
            if self.client_certificates:
                options["ssl.certificate.location"] = str(self.directory / "client.pem")
                options["ssl.key.location"] = str(self.directory / "client.key")
        if self.uses_sasl:
            options |= {
                "sasl.mechanism": self.mechanism,
                "sasl.username": USERNAME,
                "sasl.password": PASSWORD,
            }
        return options


def _write_certificates(directory: Path) -> None:
    """Writes a certificate authority, a broker's certificate for 127.0.0.1, and a client's."""
    # Only clusters with TLS need these two packages.
    import trustme
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        load_pem_private_key,
    )

    def key_of(certificate: trustme.LeafCert) -> bytes:
        # Kafka reads PKCS 8 only.
        key = load_pem_private_key(certificate.private_key_pem.bytes(), password=None)
        return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())

    def chain_of(certificate: trustme.LeafCert) -> bytes:
        return b"".join(blob.bytes() for blob in certificate.cert_chain_pems)

    authority = trustme.CA()
    broker = authority.issue_cert("127.0.0.1", "localhost")
    client = authority.issue_cert("sluice@lab.invalid")
    (directory / "ca.pem").write_bytes(authority.cert_pem.bytes())
    (directory / "broker.pem").write_bytes(key_of(broker) + chain_of(broker))
    (directory / "client.pem").write_bytes(chain_of(client))
    (directory / "client.key").write_bytes(key_of(client))
