"""What people believe about where a tensor is, and when it is copied."""

from __future__ import annotations

from exercises.beliefs import Beliefs

OPERATOR = "an operator works where its arguments are; the current device does not matter to it"
MOVED = "cuda() without a number means the current device, even for a tensor on another GPU"
EITHER = "a list of indices can name any rows in any order: no strides describe that, so it copies"
TURNED = "the elements of g.T are not in this order in memory, so reshape has to copy"
REGISTERED = "a module moves what is registered: parameters and buffers, no plain attributes"
PAGEABLE = "non_blocking needs pinned memory; from pageable memory the host takes part in the copy"
SMALL = "torch.tensor makes its number on the host and copies it: four bytes, and the host waits"
SIZE = "the result has as many elements as the mask has ones, and only the device knows that"

Answer = dict[str, str]
DEVICES: Answer = {
    "torch.ones(2)": "cpu",
    "torch.ones(2, device='cuda')": "cuda:1",
    "on_gpu + 1": "cuda:0",
    "on_cpu.cuda()": "cuda:1",
    "on_gpu.cuda()": "cuda:1",
}
DRAWERS: Answer = {
    "g.to('cuda')": "same",
    "g.to(torch.float64)": "copy",
    "g[:, 1:]": "shared",
    "g[[0, 1]]": "copy",
    "g.reshape(6)": "shared",
    "g.T.reshape(6)": "copy",
}
WAITS = {
    "g.T.contiguous()": False,
    "if g.sum() > 0": True,
    "g[g > 1]": True,
    "torch.zeros(3, device='cuda')": False,
    "torch.tensor(3.0, device='cuda')": True,
    "x.to('cuda', non_blocking=True)": True,
    "pinned.to('cuda', non_blocking=True)": False,
}

BELIEFS: Beliefs = {
    "current device": [
        (DEVICES | {"on_gpu.cuda()": "cuda:0"}, MOVED),
        (DEVICES | {"on_gpu + 1": "cuda:1"}, OPERATOR),
        (DEVICES | {"on_gpu + 1": "cuda:1", "on_gpu.cuda()": "cuda:0"}, f"{OPERATOR}; {MOVED}"),
        (
            DEVICES | {"torch.ones(2)": "cuda:1"},
            "a factory makes its tensor on the CPU unless it is told otherwise",
        ),
    ],
    "drawers": [
        (DRAWERS | {"g[[0, 1]]": "shared"}, EITHER),
        (DRAWERS | {"g.T.reshape(6)": "shared"}, TURNED),
        (DRAWERS | {"g[[0, 1]]": "shared", "g.T.reshape(6)": "shared"}, f"{EITHER}; {TURNED}"),
        (
            DRAWERS | {"g.to('cuda')": "copy"},
            "it is there already, so to returns the tensor itself",
        ),
    ],
    "what a module moves": [
        ({"scale": "cuda:0", "mean": "cuda:0", "std": "cuda:0"}, REGISTERED),
        ({"scale": "cuda:0", "mean": "cpu", "std": "cpu"}, REGISTERED),
    ],
    "who waits": [
        (WAITS | {"x.to('cuda', non_blocking=True)": False}, PAGEABLE),
        (WAITS | {"torch.tensor(3.0, device='cuda')": False}, SMALL),
        (WAITS | {"g[g > 1]": False}, SIZE),
        (
            WAITS
            | {
                "torch.tensor(3.0, device='cuda')": False,
                "x.to('cuda', non_blocking=True)": False,
            },
            f"{SMALL}; {PAGEABLE}",
        ),
        (
            WAITS | {"torch.zeros(3, device='cuda')": True},
            "zeros are written by a kernel on the device: nothing has to be copied",
        ),
    ],
}
