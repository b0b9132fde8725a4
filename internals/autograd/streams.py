"""Backward runs on the streams of forward (`Node::stream` and `InputBuffer::add` in
`torch/csrc/autograd`).

A node remembers which streams were current when it was made, one for each device, and the engine
makes them current again while it runs the node. Where a gradient goes from a node on one stream to
a node on another, the second stream waits for the first, by an event, and the gradient's memory is
marked as used by both. When all is done, the streams that `backward` was called on wait for all
that took part: so the caller may use the gradients at once.

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
    """Make `streams` the current ones; on all other devices the default stream."""
    hooks("cuda").set_streams(streams)


def remember(node: Any) -> None:
    """Note on which streams `node` is made."""
    if on := current():
        node._extras().streams = on


def streams_of(node: Any) -> Streams:
    """Those on which `node` was made."""
    return {} if node.extras is None else node.extras.streams


def hand_over(grad: Any, producer: Streams, consumer: Streams) -> None:
    """Let the consumer's stream wait for what the producer's has queued so far, if they differ on
    the gradient's device.
    """
    where = grad.device
    if where.type != "cuda":
        return
    made_on, used_on = producer.get(where.index, 0), consumer.get(where.index, 0)
    if made_on != used_on:
        hooks("cuda").wait_stream(where.index, used_on, made_on)
        hooks("cuda").record_stream(grad._storage, where.index, used_on)


def wait_for_all(caller: Streams, used: set[tuple[int, int]]) -> None:
    """Let the caller's streams wait for those in `used`, pairs of device and stream."""
    for index, stream in sorted(used):
        if stream != caller.get(index, 0):
            hooks("cuda").wait_stream(index, caller.get(index, 0), stream)
