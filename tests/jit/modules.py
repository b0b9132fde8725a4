"""Modules to script: each a class, how to make one, and what to call it with; `torch` is our
library or PyTorch's.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class ModuleCase(NamedTuple):
    """`body` is that of a class M(nn.Module), methods and all; `before` are definitions it
    needs.
    """

    name: str
    body: str
    make: str = "M()"
    inputs: str = "torch.ones(2, 3)"
    before: str = ""

    @property
    def source(self) -> str:
        body = "\n".join(
            "    " + line if line else "" for line in self.body.strip("\n").split("\n")
        )
        return f"{HEAD}\n{self.before}\n\nclass M(nn.Module):\n{body}\n"


HEAD = "from typing import *\n"
LINEAR = """
def __init__(self):
    super().__init__()
    self.fc = nn.Linear(3, 3)
"""
LAYERS = """
def __init__(self):
    super().__init__()
    self.layers = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 3)])
"""

CASES = [
    ModuleCase("linear", LINEAR + "def forward(self, x):\n    return self.fc(x).relu()"),
    ModuleCase(
        "parameter and buffer",
        """
def __init__(self):
    super().__init__()
    self.w = nn.Parameter(torch.full((3,), 2.0))
    self.register_buffer("b", torch.ones(3))
def forward(self, x):
    return x * self.w + self.b
""",
    ),
    ModuleCase(
        "buffer written to",
        """
def __init__(self):
    super().__init__()
    self.register_buffer("seen", torch.zeros(1))
def forward(self, x):
    self.seen += 1
    return x * self.seen
""",
    ),
    ModuleCase(
        "training",
        LINEAR + "def forward(self, x):\n    x = self.fc(x)\n"
        "    if self.training:\n        x = x * 2\n    return x",
    ),
    ModuleCase(
        "sequential",
        """
def __init__(self):
    super().__init__()
    self.net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
def forward(self, x):
    return self.net(x)
""",
    ),
    ModuleCase(
        "module list",
        LAYERS + "def forward(self, x):\n"
        "    for layer in self.layers:\n        x = layer(x)\n    return x",
    ),
    ModuleCase(
        "module list enumerated",
        LAYERS + "def forward(self, x):\n"
        "    for i, layer in enumerate(self.layers):\n        x = layer(x) + i\n    return x",
    ),
    ModuleCase(
        "module list indexed",
        LAYERS + "def forward(self, x):\n    return self.layers[0](x) + self.layers[-1](x)",
    ),
    ModuleCase(
        "module list zipped",
        LAYERS + "def forward(self, x):\n"
        "    for k, layer in zip((1, 2, 3), self.layers):\n        x = layer(x) * k\n    return x",
    ),
    ModuleCase(
        "length of a list", LAYERS + "def forward(self, x):\n    return x * len(self.layers)"
    ),
    ModuleCase(
        "module dict",
        """
def __init__(self):
    super().__init__()
    self.heads = nn.ModuleDict({"a": nn.Linear(3, 2), "b": nn.Linear(3, 2)})
def forward(self, x):
    out = self.heads["a"](x)
    for name, head in self.heads.items():
        out = out + head(x)
    return out
""",
    ),
    ModuleCase(
        "parameter list",
        """
def __init__(self):
    super().__init__()
    self.ws = nn.ParameterList([nn.Parameter(torch.ones(3)), nn.Parameter(torch.full((3,), 3.0))])
def forward(self, x):
    for w in self.ws:
        x = x * w
    return x + self.ws[1]
""",
    ),
    ModuleCase(
        "no submodule",
        """
def __init__(self, down=None):
    super().__init__()
    self.down = down
def forward(self, x):
    identity = x
    if self.down is not None:
        identity = self.down(x)
    return x + identity
""",
    ),
    ModuleCase(
        "optional submodule that is there",
        """
def __init__(self, down):
    super().__init__()
    self.down = down
def forward(self, x):
    identity = x
    if self.down is not None:
        identity = self.down(x)
    return x + identity
""",
        "M(nn.Linear(3, 3))",
    ),
    ModuleCase(
        "buffer and parameter that are None",
        """
def __init__(self):
    super().__init__()
    self.register_buffer("b", None)
    self.register_parameter("w", None)
def forward(self, x):
    if self.b is not None:
        x = x + self.b
    if self.w is None:
        x = x * 2
    return x
""",
    ),
    ModuleCase(
        "constants",
        """
__constants__ = ["k", "sizes", "mode"]
gain: Final[float]
def __init__(self):
    super().__init__()
    self.k, self.sizes, self.mode, self.gain = 3, [2, 3], "sum", 0.5
def forward(self, x):
    if self.mode == "sum":
        x = x.view(self.sizes[0], self.sizes[1])
    return x * self.k * self.gain
""",
    ),
    ModuleCase(
        "branch that does not compile behind a constant",
        """
__constants__ = ["fancy"]
def __init__(self):
    super().__init__()
    self.fancy = False
def forward(self, x):
    if self.fancy:
        return self.nowhere(x)
    return x + 1
""",
    ),
    ModuleCase(
        "list attribute",
        """
seen: List[int]
def __init__(self):
    super().__init__()
    self.seen = []
def forward(self, x):
    self.seen.append(x.size(0))
    return x + len(self.seen)
""",
    ),
    ModuleCase(
        "number attribute that changes",
        """
def __init__(self):
    super().__init__()
    self.calls = 0
def forward(self, x):
    self.calls += 1
    return x * self.calls
""",
    ),
    ModuleCase(
        "optional attribute",
        """
last: Optional[torch.Tensor]
def __init__(self):
    super().__init__()
    self.last = None
def forward(self, x):
    last = self.last
    self.last = x
    return x if last is None else x + last
""",
    ),
    ModuleCase(
        "methods",
        LINEAR
        + """
def scaled(self, x, by: float = 2.0, *, plus: int):
    return x * by + plus
def forward(self, x):
    return self.scaled(self.fc(x), plus=1) + self.scaled(x, 3.0, plus=2)
""",
    ),
    ModuleCase(
        "functions",
        LINEAR + "def forward(self, x):\n    return outer(self.fc(x), 2)",
        before=(
            "def inner(x, n: int):\n    return x + n\ndef outer(x, n: int):\n    return inner(x, "
            "n) * inner(x, 1)"
        ),
    ),
    ModuleCase(
        "static method",
        "@staticmethod\ndef twice(x, n: int):\n    return x * n\ndef forward(self, x):\n    return "
        "self.twice(x, 2)",
    ),
    ModuleCase(
        "property",
        """
def __init__(self):
    super().__init__()
    self._k = 2
@property
def k(self) -> int:
    return self._k + 1
@k.setter
def k(self, value: int) -> None:
    self._k = value
def forward(self, x):
    self.k = 5
    return x * self.k
""",
    ),
    ModuleCase(
        "same class twice and nested",
        """
def __init__(self):
    super().__init__()
    self.a, self.b = Block(3), Block(3)
    self.c = nn.Sequential(Block(3), self.a)
def forward(self, x):
    return self.c(self.b(self.a(x)))
""",
        before="""
class Block(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.fc = nn.Linear(n, n)
    def forward(self, x):
        return x + self.fc(x).tanh()
""",
    ),
    ModuleCase(
        "tied weights",
        """
def __init__(self):
    super().__init__()
    self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)
    self.b.weight = self.a.weight
def forward(self, x):
    return self.b(self.a(x))
""",
    ),
    ModuleCase(
        "submodule's method and attribute",
        """
def __init__(self):
    super().__init__()
    self.fc = Sub()
def forward(self, x):
    return self.fc.half(x) + self.fc.w + self.fc.inner.bias
""",
        before="""
class Sub(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(3))
        self.inner = nn.Linear(3, 3)
    def half(self, x):
        return self.inner(x) / 2
""",
    ),
    ModuleCase(
        "early return and tuples",
        LINEAR
        + """
def forward(self, x, flip: bool) -> Tuple[torch.Tensor, int]:
    if flip:
        return -x, 1
    for i in range(3):
        if i == 2:
            return self.fc(x), i
    return x, 0
""",
        inputs="torch.ones(2, 3), False",
    ),
    ModuleCase(
        "dicts",
        LINEAR
        + """
def forward(self, x: Dict[str, torch.Tensor]) -> Dict[str, torch.Tensor]:
    out: Dict[str, torch.Tensor] = {}
    for key in x:
        out[key] = self.fc(x[key])
    return out
""",
        inputs="{'a': torch.ones(2, 3), 'b': torch.zeros(1, 3)}",
    ),
    ModuleCase(
        "string attribute",
        """
def __init__(self, mode):
    super().__init__()
    self.mode = mode
def forward(self, x):
    if self.mode == "add":
        return x + 1
    elif self.mode in ["mul", "times"]:
        return x * 2
    raise ValueError(f"unknown mode {self.mode}")
""",
        'M("times")',
    ),
    ModuleCase(
        "function attribute",
        "def __init__(self):\n    super().__init__()\n    self.act = helper\n    self.op = "
        "torch.tanh\n"
        "def forward(self, x):\n    return self.op(self.act(x, 2))",
        before="def helper(x, n: int):\n    return x * n",
    ),
    ModuleCase(
        "convolution and normalization",
        """
def __init__(self):
    super().__init__()
    self.conv = nn.Conv2d(1, 2, 3, padding=1)
    self.bn = nn.BatchNorm2d(2)
    self.fc = nn.Linear(32, 2)
def forward(self, x):
    x = torch.relu(self.bn(self.conv(x)))
    return self.fc(torch.flatten(x, 1))
""",
        inputs="torch.arange(32.0).view(2, 1, 4, 4)",
    ),
    ModuleCase(
        "exported",
        """
@torch.jit.export
def other(self, x):
    return self.helper(x) + 1
def helper(self, x):
    return x * 4
def forward(self, x):
    return x
""",
    ),
    ModuleCase(
        "named children and buffers",
        """
def __init__(self):
    super().__init__()
    self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)
    self.register_buffer("c", torch.ones(3))
def forward(self, x):
    for name, child in self.named_children():
        x = child(x)
    return x + self.c
""",
    ),
]


def namespace(T: Any) -> dict[str, Any]:
    return {"torch": T, "nn": T.nn, "F": T.nn.functional}
