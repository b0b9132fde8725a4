"""What answers that nobody reads may take: a bound for all, and who is refused when it is
reached.
"""

from __future__ import annotations

import pytest

pytest.importorskip("grpc", reason="the extra `serving` is not installed")

import internals as torch
from internals import serving
from internals.serving.errors import QueueFull
from internals.serving.transport.unread import COPIES, Unread


def test_a_connection_that_read_everything_is_served_when_others_filled_the_memory() -> None:
    unread = Unread(1000)
    unread.hold("slow", 5000)  # the first answer is always given, however large
    unread.check("polite", 10)
    unread.hold("polite", 10)
    unread.release("polite", 10)
    unread.check("polite", 10)


def test_a_connection_that_owes_the_reading_of_an_answer_gets_no_more_beyond_the_bound() -> None:
    unread = Unread(1000)
    unread.hold("slow", 100)
    unread.hold("slow", 1000 // COPIES - 100)
    with pytest.raises(
        QueueFull, match="clients have not read 1000 bytes of answers, 1000 of them this connection"
    ):
        unread.hold("slow", 1)
    unread.release("slow", 100)
    unread.check("slow", 100)


def test_nothing_is_kept_of_connections_that_hold_nothing() -> None:
    unread = Unread(1000)
    for connection in ("a", "b"):
        unread.hold(connection, 100)
        unread.release(connection, 0)  # a request that failed
        unread.release(connection, 100)
    assert unread.together == 0 and not unread.of


def test_a_client_that_reads_is_never_refused_however_small_the_bound() -> None:
    settings = serving.Settings(port=0, metrics_port=0, max_queue_bytes=1)
    with (
        serving.Server({"double": lambda x: x * 2}, settings) as server,
        serving.Client(server.grpc_address) as client,
    ):
        for i in range(20):
            assert client.infer("double", torch.full((4,), float(i))).tolist() == [2.0 * i] * 4
