"""What people believe about requests that share a connection."""

from __future__ import annotations

from exercises.beliefs import Beliefs

FOUR, SIX, ONE = "HTTP/1.1, four connections", "HTTP/1.1, six connections", "HTTP/2, one connection"
ALONE, AT_ONCE = "pipelined", "and four worked on at once"

BELIEFS: Beliefs = {
    "pipelined": [
        (
            {ALONE: 5, AT_ONCE: 5},
            "an answer of HTTP/1.1 does not say whose it is, so it may not overtake",
        ),
        (
            {ALONE: 135, AT_ONCE: 5},
            "it is ready after 5 ms, but its turn comes when slow, a and b have gone",
        ),
        (
            {ALONE: 135, AT_ONCE: 135},
            "a server that works on all four needs 100 ms for them, not the sum",
        ),
        (
            {ALONE: 100, AT_ONCE: 100},
            "a server that takes one request after the other has not begun with c at 100 ms",
        ),
    ],
    "the seventh": [
        (
            {SIX: 5, ONE: 5},
            "six connections are six lines, and all of them are busy for 300 ms",
        ),
        (
            {SIX: 305, ONE: 305},
            "one connection of HTTP/2 carries as many streams as there are requests",
        ),
        (
            {SIX: 300, ONE: 5},
            "at 300 ms the first connection is free, and then the quick one needs its 5 ms",
        ),
    ],
    "windows": [
        (
            {"arrived": 10, "read": 10},
            "bytes that were not read keep their part of the connection's window, which all share",
        ),
        (
            {"arrived": 500, "read": 500},
            "what has arrived is given back to the connection; only the film's own window is empty",
        ),
        (
            {"arrived": 500, "read": 10},
            "giving back late is what keeps the connection's window empty",
        ),
    ],
    "lost": [
        (
            {FOUR: 1, ONE: 1},
            "TCP knows no streams: it holds back all bytes behind the lost ones, whosever they are",
        ),
        (
            {FOUR: 4, ONE: 4},
            "a connection that lost nothing does not wait for one that did",
        ),
    ],
    "status": [
        (404, "HTTP found what it was asked for; the verdict on the call is in the trailers"),
        (500, "the request was received and answered, and that is all that HTTP has to say"),
        (5, "5 is gRPC's NOT_FOUND, in the trailers; HTTP has a status of its own"),
    ],
}
