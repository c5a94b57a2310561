import socket

from ops.run import _listen


def test_what_the_door_accepts_sends_small_writes_at_once() -> None:
    """Head and body of an answer are two writes: without TCP_NODELAY the second would wait for the caller's ACK."""
    with _listen("127.0.0.1", 0) as listening, socket.create_connection(listening.getsockname()):
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
