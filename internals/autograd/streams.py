"""Streams in backward: each node runs on the streams of its forward operator (`Node::stream` and
`InputBuffer::add` in `torch/csrc/autograd`).

A node keeps the streams that were current when it was made, one for each device, and the engine
makes them current again while it runs the node. Where a gradient goes from a node on one stream to
a node on another, the second stream waits for an event of the first, and the gradient's memory is
marked as used by both, so that it is not reused too early. At the end, the streams that `backward`
was called on wait for all that were used: so the caller may use the gradients at once.

How the real one differs: gradients of several producers are added up on a stream chosen by device
and by where the producers ran; here it is always the consumer's.
"""

from __future__ import annotations

from typing import Any

from internals.core.backend_hooks import hooks

Streams = dict[int, int]  # index of the device → handle of the stream; a default stream is left out


def current() -> Streams:
    """The streams of this thread that are not the default ones."""
    return hooks("cuda").current_streams()


def become(streams: Streams) -> None:
    """Makes `streams` the current ones; on all other devices the default stream."""
    hooks("cuda").set_streams(streams)


def remember(node: Any) -> None:
    """Keeps in `node` the current streams, if any is not the default one."""
    if on := current():
        node._extras().streams = on


def streams_of(node: Any) -> Streams:
    """The streams on which `node` was made."""
    return {} if node.extras is None else node.extras.streams


def hand_over(grad: Any, producer: Streams, consumer: Streams) -> None:
    """Makes the consumer's stream wait for the work that the producer's has queued so far, if the
    two differ on the gradient's device.
    """
    where = grad.device
    if where.type != "cuda":
        return
    made_on, used_on = producer.get(where.index, 0), consumer.get(where.index, 0)
    if made_on != used_on:
        hooks("cuda").wait_stream(where.index, used_on, made_on)
        hooks("cuda").record_stream(grad._storage, where.index, used_on)


def wait_for_all(caller: Streams, used: set[tuple[int, int]]) -> None:
    """Makes the caller's streams wait for those in `used`, pairs of device and stream."""
    for index, stream in sorted(used):
        if stream != caller.get(index, 0):
            hooks("cuda").wait_stream(index, caller.get(index, 0), stream)
