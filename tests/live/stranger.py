"""A process without Spark's secret that speaks Spark's wire format to a port of its JVM."""

import socket
import struct

RPC_REQUEST, RPC_RESPONSE, RPC_FAILURE = 3, 4, 5
OPEN_BLOCKS = 0
FRAME = struct.Struct(">qbqi")
"""Length of the frame, message type, request id, length of the body."""
# Java serialization of the string "hello": the driver deserializes messages to its endpoints.
JAVA_HELLO = b"\xac\xed\x00\x05t\x00\x05hello"


def asked(port: int, body: bytes, seconds: float = 10.0) -> tuple[int, bytes]:
    """Returns type and bytes of the answer to one RPC request; (-1, b"") if the port closes."""
    head = FRAME.pack(FRAME.size + len(body), RPC_REQUEST, 1, len(body))
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as connection:
        connection.sendall(head + body)
        answer = connection.makefile("rb")
        found = answer.read(9)
        if len(found) < 9:
            return -1, b""
        length, kind = struct.unpack(">qb", found)
        return kind, answer.read(length - 9)


def opening_no_blocks() -> bytes:
    """Returns a block manager's OpenBlocks request for no block at all."""
    return bytes([OPEN_BLOCKS]) + _text("stranger") + _text("0") + struct.pack(">i", 0)


def hello_to(endpoint: str, port: int) -> bytes:
    """Returns a message to an endpoint of the driver, without a sender."""
    to = b"\x01" + _utf("127.0.0.1") + struct.pack(">i", port) + _utf(endpoint)
    return b"\x00" + to + JAVA_HELLO


def _text(value: str) -> bytes:
    return struct.pack(">i", len(value)) + value.encode()


def _utf(value: str) -> bytes:
    return struct.pack(">H", len(value)) + value.encode()


def called(port: int, seconds: float = 10.0) -> bytes:
    """Returns the first line answered to a py4j call without py4j's token; empty for none."""
    call = b"c\nz:java.lang.System\ncurrentTimeMillis\ne\n"
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as connection:
        connection.sendall(call)
        try:
            return connection.makefile("rb").readline()
        except (TimeoutError, ConnectionResetError):
            return b""
