"""Errors of a cluster that did not do what was asked, with how to mend them.

AdminError                  names the cluster, and the mend.
|- AdminUnreachable         no broker answered in time.
|  |- NotLetIn              TLS, user or password were refused, or their files cannot be read.
|- NotAuthorized            let in, but without the right that is named.
|- UnknownTopic             the topic is not there (any more).
|- Refused                  anything else that the cluster refused.
   |- Outdated              the client had outdated leaders; a new client looks again.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import KafkaError, KafkaException

from replicator.config.topology import KafkaCluster
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Answered, Forbidden

LOST = frozenset(
    {
        KafkaError._ALL_BROKERS_DOWN,
        -137,  # _DESTROY_BROKER, missing in the published types: the broker left the cluster
        KafkaError._RESOLVE,
        KafkaError._TIMED_OUT,
        KafkaError._TIMED_OUT_QUEUE,
        KafkaError._TRANSPORT,
        KafkaError.REQUEST_TIMED_OUT,
    }
)
NOT_LET_IN = frozenset(
    {
        KafkaError._AUTHENTICATION,
        KafkaError._SSL,
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError.UNSUPPORTED_SASL_MECHANISM,
    }
)
NOT_AUTHORIZED = frozenset(
    {
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
    }
)
UNKNOWN_TOPIC = frozenset({KafkaError.UNKNOWN_TOPIC_OR_PART, 100})  # 100: UNKNOWN_TOPIC_ID
# librdkafka's admin client (2.16) keeps what it knows of a topic for minutes. Meanwhile it goes on
# asking a former leader, or with a former epoch. Partitions that had no leader, or were not there,
# when it looked stay so for it.
OUTDATED = frozenset(
    {
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.UNKNOWN_LEADER_EPOCH,
        KafkaError._NOENT,  # none of the partitions asked for had a leader
        KafkaError._UNKNOWN_PARTITION,
    }
)
# Errors that pass by themselves while leaders move or brokers come and go.
PASSING = frozenset(
    {
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._TIMED_OUT,
        KafkaError._TRANSPORT,
        KafkaError._UNKNOWN_PARTITION,
        KafkaError.BROKER_NOT_AVAILABLE,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NETWORK_EXCEPTION,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.REQUEST_TIMED_OUT,
    }
)


class AdminError(Exception):
    """A cluster did not do what was asked.

    Args:
        answer: text of the cluster alone; empty where it gave none.
    """

    def __init__(self, cluster: str, text: str, answer: str = "") -> None:
        super().__init__(f"{cluster}: {text}")
        self.answer = answer


class AdminUnreachable(AdminError):
    """No broker answered in time. Wait, or mend addresses and network."""


class NotLetIn(AdminUnreachable):
    """TLS, user or password were refused, or their files cannot be read.

    Mend the cluster's security settings.
    """


class NotAuthorized(AdminError):
    """The user lacks a right. Grant it."""


class UnknownTopic(AdminError):
    """The topic does not exist."""


class Refused(AdminError):
    """The cluster refused for another reason. Read its text."""


class Outdated(Refused):
    """The client knew no leader of the partition, or a former one. Ask with a new client."""


def kafka_error(failure: KafkaException) -> KafkaError:
    """Returns the KafkaError inside; librdkafka always puts one there."""
    inside = failure.args[0]
    return inside if isinstance(inside, KafkaError) else KafkaError(KafkaError._FAIL, str(inside))


def translated(
    error: KafkaError, doing: str, name: str, cluster: KafkaCluster, complaint: KafkaError | None
) -> AdminError:
    """Returns the AdminError for a KafkaError.

    Args:
        doing: what was asked, for the text.
        name: the cluster's name, for the text.
        complaint: librdkafka's last message of its own, often more telling than the error.
    """
    code = error.code()
    if code in NOT_LET_IN:
        return NotLetIn(name, f"{doing}: {refusal(error, cluster)}")
    if code in LOST:
        why = (complaint or error).str()
        return AdminUnreachable(
            name,
            f"{doing}: no answer from {cluster.bootstrap_servers} ({why}); "
            "is it up, and are address and protocol right?",
        )
    if code in NOT_AUTHORIZED:
        user = cluster.security.username or "this client"
        return NotAuthorized(name, f"{doing}: {user} may not ({error.str()}); grant the right")
    if code in UNKNOWN_TOPIC:
        return UnknownTopic(name, f"{doing}: no such topic")
    kind = Outdated if code in OUTDATED else Refused
    return kind(name, f"{doing}: {error.str()} ({error.name()})", error.str())


def refusal(error: KafkaError, cluster: KafkaCluster) -> str:
    """Returns the text of a refused login, with how to mend it."""
    security = cluster.security
    if error.code() == KafkaError._SSL:
        return f"TLS failed ({error.str()}); check ca_file, and the names in the certificate"
    return (
        f"user {security.username!r} with the password in {security.password_file} was refused "
        f"({error.str()}); mend username, password_file or mechanism"
    )


@contextmanager
def admin_errors(name: str, doing: str) -> Iterator[None]:
    """Raises errors of a Cluster, and a TimeoutError, as AdminError."""
    try:
        yield
    except TimeoutError:
        raise AdminUnreachable(name, f"{doing}: no answer in time") from None
    except Unreachable as error:
        raise AdminUnreachable(name, f"{doing}: {error}") from None
    except Forbidden as error:
        raise NotAuthorized(name, f"{doing}: {error}; grant the right") from None
    except Answered as error:
        raise Refused(name, f"{doing}: {error}") from None
