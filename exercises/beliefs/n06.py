"""What people believe about the path of a call."""

from __future__ import annotations

from exercises.beliefs import Beliefs

LOOKED_AT = (
    "every tensor that may one day be asked for a gradient has the key of Autograd; the kernel "
    "there looks whether one is wanted"
)

BELIEFS: Beliefs = {
    "view": [
        ([], "somebody has to swap the sizes and strides: the kernel at CPU does"),
        (["CPU"], "the kernel of Autograd looks at every call, and a view is tied to its base"),
        (
            ["AutogradCPU", "CPU"],
            "the result shares memory with its base, and ADInplaceOrView keeps the books on that",
        ),
        (
            ["AutogradCPU", "ADInplaceOrView"],
            "ADInplaceOrView ties the view to its base; it is made below, at CPU",
        ),
    ],
    "key set": [
        (["requires_grad", "inference", "meta"], LOOKED_AT),
        (["requires_grad", "meta"], LOOKED_AT),
        (["requires_grad"], LOOKED_AT),
        (
            ["meta"],
            "what is made in inference mode lacks the keys of the layers that keep books",
        ),
    ],
    "layer": [
        (
            {"as always": "refused", "without": "refused"},
            "backward compares version counters, and the layer that counts was not asked",
        ),
        (
            {"as always": "refused", "without": "right"},
            "the node of exp keeps its result; the bytes are ten times as large now",
        ),
        (
            {"as always": "right", "without": "wrong"},
            "exp keeps its result, the write is counted, and backward compares the counts",
        ),
    ],
    "underscore": [
        (
            {"bump, with (a!)": 1, "bump_, without": 1},
            "a name is only a name: the layer that counts reads the schema",
        ),
        (
            {"bump, with (a!)": 0, "bump_, without": 1},
            "a name is only a name: the layer that counts reads the schema",
        ),
        (
            {"bump, with (a!)": 0, "bump_, without": 0},
            "the kernel does not count, but the layer above it does, if the schema says (a!)",
        ),
    ],
    "relu": [
        (
            {"torch.relu(x)": 6.0, "x.relu()": 6.0, "nn.ReLU()(x)": 6.0, "x.relu_()": 6.0},
            "relu_ is an operator of its own, with a table of its own",
        ),
        (
            {"torch.relu(x)": 6.0, "x.relu()": 9.0, "nn.ReLU()(x)": 9.0, "x.relu_()": 9.0},
            "the function, the method and the module go through one slot of one table",
        ),
        (
            {"torch.relu(x)": 6.0, "x.relu()": 6.0, "nn.ReLU()(x)": 9.0, "x.relu_()": 9.0},
            "the module calls the function, which goes through the same slot",
        ),
    ],
}
