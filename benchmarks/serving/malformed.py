"""Messages that are none: requests of all kinds, damaged in all ways, never more than the sender's
own loss.

The kinds of damage are those of a fuzzer: bits turned, bytes put in, taken out, cut off, two
messages spliced, numbers blown up, parts repeated. A damaged message may still be a request (a bit
of a tensor is only another number); whatever it is, the answer is a tensor or a status that says
what is wrong, and never one that says "my own fault" (UNKNOWN, INTERNAL). In between, whole
requests get right answers.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from benchmarks.serving import load, models
from benchmarks.serving.finding import Finding, MiB
from benchmarks.serving.load import Request, Task
from benchmarks.serving.process import ServerProcess
from internals.serving.protocol.schema import open_inference

OUR_FAULT = ("UNKNOWN", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "CANCELLED", "DEADLINE_EXCEEDED")
CLIENTS = 16
EVERY = 50  # messages, there is a whole one


def malformed(folder: Path, count: int = 10_000, seed: int = 0) -> Finding:
    """`count` damaged messages, the same for the same seed."""
    finding = Finding(
        f"{count:,} malformed messages", "valid requests of all calls, damaged at random"
    )
    with ServerProcess(folder, "--control") as server:
        before = server.resident()
        messages = list(damaged(random.Random(seed), count))
        whole = models.request("double", models.numbers(1, (2, models.WIDTH)))
        mixed = [
            each for i, m in enumerate(messages) for each in ([m, whole] if i % EVERY == 0 else [m])
        ]
        lists = [mixed[i::CLIENTS] for i in range(CLIENTS)]
        answers = load.run(Task(server.grpc, server.http, lists, turns=1))
        asked = [request for requests in lists for request in requests]
        finding.expect(
            len(answers) == len(mixed), f"{len(mixed)} were sent, {len(answers)} have an end"
        )
        finding.all_right(
            [a for a, r in zip(answers, asked) if r is whole], "whole requests in between"
        )
        at_fuzz = [(a, r) for a, r in zip(answers, asked) if r is not whole]
        ours = [(a, r) for a, r in at_fuzz if a.status in OUR_FAULT]
        about = (
            f": {ours[0][0].status} {ours[0][0].details} for {ours[0][1].way} {ours[0][1].body!r}"
            if ours
            else ""
        )
        finding.expect(not ours, f"{len(ours)} were answered as our own fault{about}"[:2000])
        finding.seen |= {
            status: f"{n:,}" for status, n in load.statuses(a for a, _ in at_fuzz).items()
        }
        finding.memory(server, before, 256 * MiB)
        finding.healthy(server)
    return finding


def damaged(chance: random.Random, count: int) -> Iterator[Request]:
    seeds = list(valid_requests())
    for _ in range(count):
        way, body = chance.choice(seeds)
        for _ in range(chance.choice((1, 1, 1, 2, 4))):
            body = damage(chance, body, seeds)
        yield Request(body, way=way)


def damage(chance: random.Random, body: bytes, seeds: list[tuple[str, bytes]]) -> bytes:
    """The message with one thing wrong."""
    at = chance.randrange(len(body) + 1)
    length = chance.choice((1, 1, 2, 4, 16, 64))
    kind = chance.randrange(8)
    if kind == 0 and at < len(body):
        return body[:at] + bytes([body[at] ^ 1 << chance.randrange(8)]) + body[at + 1 :]
    if kind == 1:
        return body[:at] + chance.randbytes(length) + body[at:]
    if kind == 2:
        return body[:at] + body[at + length :]
    if kind == 3:
        return body[:at]
    if kind == 4:
        other = chance.choice(seeds)[1]
        return body[:at] + other[chance.randrange(len(other) + 1) :]
    if kind == 5:
        return body[:at] + b"\xff" * chance.choice((4, 9, 10, 11)) + b"\x7f" + body[at + 1 :]
    if kind == 6:
        return body[:at] + body[at : at + length] * chance.choice((2, 10, 200)) + body[at:]
    return body + chance.randbytes(length)


def valid_requests() -> Iterator[tuple[str, bytes]]:
    """Half of them tensors, raw or as fields; the rest the small calls."""
    schema = open_inference()
    said = schema.ModelInferRequest(model_name="double", id="7", model_version="1")
    said.inputs.add(name="x", datatype="FP32", shape=[2, 2]).contents.fp32_contents.extend(
        [1, 2, 3, 4]
    )
    said.outputs.add(name="OUTPUT__0")
    said.parameters["priority"].int64_param = 3
    said.parameters["what"].string_param = "ever"
    said.inputs[0].shape[:] = [1, models.WIDTH]
    said.inputs[0].contents.fp32_contents[:] = [1.0] * models.WIDTH
    for body in (
        said.SerializeToString(),
        models.request("double", models.numbers(3, (2, models.WIDTH))).body,
    ) * 3:
        yield "ModelInfer", body
    yield (
        "ModelMetadata",
        schema.ModelMetadataRequest(name="double", version="1").SerializeToString(),
    )
    yield "ModelReady", schema.ModelReadyRequest(name="double").SerializeToString()
    yield "ModelStatistics", schema.ModelStatisticsRequest(name="double").SerializeToString()
    yield (
        "RepositoryIndex",
        schema.RepositoryIndexRequest(ready=True).SerializeToString() or b"\x10\x01",
    )
    yield (
        "RepositoryModelLoad",
        schema.RepositoryModelLoadRequest(model_name="nobody").SerializeToString(),
    )
    yield "ServerMetadata", b"\x0a\x03abc"
