"""Programs for the script compiler: algorithms, the way somebody would write them who had never
read what is supported.
"""

from __future__ import annotations

from tests.jit.programs import programs

ALGORITHMS = programs("""
### k-means step
def f(x, centers):
    d = ((x[:, None, :] - centers[None]) ** 2).sum(-1)
    nearest = d.argmin(1)
    new = torch.zeros_like(centers)
    for k in range(centers.size(0)):
        mine = nearest == k
        if mine.any():
            new[k] = x[mine].mean(0)
        else:
            new[k] = centers[k]
    return new, nearest
>>> torch.arange(30).mul(0.7).sin().reshape(10, 3), torch.arange(12).mul(0.7).sin().reshape(4, 3)
### beam search step
def f(logp, scores, width: int):
    total = scores[:, None] + logp.log_softmax(-1)
    best, where = total.flatten().topk(width)
    v = logp.shape[1]
    beams: List[Tuple[int, int, float]] = []
    for i in range(width):
        at = int(where[i])
        beams.append((at // v, at % v, best[i].item()))
    return beams, best
>>> torch.arange(21).mul(0.7).sin().reshape(3, 7), torch.arange(3).mul(0.7).sin().reshape(3), 4
### tokenizer
def f(text: str):
    vocab: Dict[str, int] = {}
    ids: List[int] = []
    word = ""
    for ch in text.lower() + " ":
        if ch.isalpha():
            word += ch
        elif word != "":
            if word not in vocab:
                vocab[word] = len(vocab)
            ids.append(vocab[word])
            word = ""
    return ids, vocab
>>> "the cat, the dog. A  cat!"
### box IoU
def f(a: torch.Tensor, b: torch.Tensor):
    a = torch.cat([a[:, :2], a[:, :2] + a[:, 2:]], 1)
    b = torch.cat([b[:, :2], b[:, :2] + b[:, 2:]], 1)
    lt = torch.max(a[:, None, :2], b[:, :2])
    rb = torch.min(a[:, None, 2:], b[:, 2:])
    wh = (rb - lt).clamp(min=0)
    inter = wh[..., 0] * wh[..., 1]
    area_a, area_b = (a[:, 2:] - a[:, :2]).prod(1), (b[:, 2:] - b[:, :2]).prod(1)
    return inter / (area_a[:, None] + area_b - inter)
>>> torch.arange(20).mul(0.7).sin().reshape(5, 4).abs(), \
torch.arange(12).mul(0.7).sin().reshape(3, 4).abs()
### LSTM with early stop
def w(*sizes):
    return (torch.ones(sizes).cumsum(0) * 0.7 + torch.ones(sizes).cumsum(-1)).sin()
def f(x, w_ih, w_hh, b):
    n, hid = x.size(1), w_hh.size(1)
    h = torch.zeros(n, hid)
    c = torch.zeros_like(h)
    outs: List[torch.Tensor] = []
    for t in range(x.size(0)):
        gates = torch.nn.functional.linear(x[t], w_ih, b) + h @ w_hh.t()
        i, f, g, o = gates.chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        outs.append(h)
        if h.abs().max() > 0.28:
            break
    return torch.stack(outs), (h, c), len(outs)
>>> w(5, 2, 3), w(16, 3), w(16, 4), w(16)
### operator precedence parser
def f(s: str) -> float:
    values: List[float] = []
    ops: List[str] = []
    prec = {"+": 1, "-": 1, "*": 2, "/": 2}
    i = 0
    while True:
        ch = s[i] if i < len(s) else ")"
        if ch.isdigit():
            j = i
            while j < len(s) and s[j].isdigit():
                j += 1
            values.append(float(s[i:j]))
            i = j
            continue
        if ch == "(":
            ops.append(ch)
            i += 1
            continue
        p = 0
        if ch in prec:
            p = prec[ch]
        while len(ops) > 0 and ops[-1] != "(" and prec[ops[-1]] >= p:
            op = ops.pop()
            r, l = values.pop(), values.pop()
            if op == "+":
                values.append(l + r)
            elif op == "-":
                values.append(l - r)
            elif op == "*":
                values.append(l * r)
            else:
                assert r != 0.0, "division by zero in " + s
                values.append(l / r)
        if ch == ")":
            if len(ops) == 0:
                break
            ops.pop()
        else:
            ops.append(ch)
        i += 1
    return values[-1]
>>> "2*(3+4)-10/(1+4)"
### break out of two loops
def f(x):
    found: Optional[Tuple[int, int]] = None
    for i in range(x.size(0)):
        for j in range(x.size(1)):
            if int(x[i, j]) == 6:
                found = (i, j)
                break
            if j > i:
                continue
        if found is not None:
            break
    if found is None:
        return -1
    a, b = found
    return a * 10 + b
>>> torch.arange(12).reshape(3,4)
### Newton's iteration
def f(x, eps: float = 0.1):
    y = torch.ones_like(x)
    n = 0
    while True:
        step = (y * y - x.abs()) / (2 * y)
        y = y - step
        n += 1
        if step.abs().max() < eps or n >= 20:
            return y, n
>>> torch.arange(8).mul(0.7).sin().reshape(8), 0.3
### quicksort
def f(xs: List[int]):
    stack = [(0, len(xs) - 1)]
    xs = xs[:]
    while len(stack) > 0:
        lo, hi = stack.pop()
        if lo >= hi:
            continue
        p = xs[hi]
        i = lo
        for j in range(lo, hi):
            if xs[j] < p:
                xs[i], xs[j] = xs[j], xs[i]
                i += 1
        xs[i], xs[hi] = xs[hi], xs[i]
        stack.append((lo, i - 1))
        stack.append((i + 1, hi))
    return xs
>>> [3, 1, 2, 7, 5]
### matrix power
def f(x, n: int = 5):
    r = torch.eye(3)
    while n:
        if n & 1:
            r = r @ x
        x = x @ x
        n >>= 1
    return r
>>> torch.arange(9).mul(0.7).sin().reshape(3, 3)
### return out of two loops
def f(n: int) -> str:
    for i in range(10):
        if i == n:
            for j in range(i):
                if j == 2:
                    return "deep"
            return "inner"
    else_ = "end"
    return else_
>>> 3
### dynamic time warping
def f(a, b, w: int):
    inf = float("inf")
    D = torch.full((6, 6), inf)
    D[0, 0] = 0.
    for i in range(1, 6):
        for j in range(max(1, i - w), min(6, i + w + 1)):
            D[i, j] = (a[i - 1] - b[j - 1]).abs() + \
torch.min(torch.stack([D[i - 1, j], D[i, j - 1], D[i - 1, j - 1]]))
    return D[5, 5].item(), D
>>> torch.arange(5).mul(0.7).sin().reshape(5), torch.arange(5).mul(0.7).sin().reshape(5), 3
### non-maximum suppression
def f(boxes, scores, thr: float = 0.5):
    order = scores.argsort(descending=True)
    keep: List[int] = []
    while order.numel() > 0:
        i = int(order[0])
        keep.append(i)
        if order.numel() == 1:
            break
        rest = order[1:]
        d = (boxes[rest] - boxes[i]).abs().sum(1)
        order = rest[d > thr]
    return torch.tensor(keep)
>>> torch.arange(24).mul(0.7).sin().reshape(6, 4), torch.arange(6).mul(0.7).sin().reshape(6)
### Levenshtein distance
def f(a: str, b: str) -> int:
    prev = [j for j in range(len(b) + 1)]
    for i, ca in enumerate(a):
        cur = [i + 1]
        for j, cb in enumerate(b):
            cur.append(min(prev[j + 1] + 1, min(cur[j] + 1, prev[j] + (0 if ca == cb else 1))))
        prev = cur
    return prev[-1]
>>> "ab", "acb"
### conjugate gradients
def f(A, b, tol: float = 1e-6):
    A = A @ A.t() + torch.eye(3)
    x = torch.zeros_like(b)
    r = b - A @ x
    p = r
    rs = torch.dot(r, r)
    for it in range(10):
        Ap = A @ p
        alpha = rs / p.dot(Ap)
        x, r = x + alpha * p, r - alpha * Ap
        new = r.dot(r)
        if new.sqrt() < tol:
            return x, it
        p, rs = r + (new / rs) * p, new
    return x, -1
>>> torch.arange(9).mul(0.7).sin().reshape(3, 3), torch.arange(3).mul(0.7).sin().reshape(3)
### sieve
def f(n: int):
    p = [True] * (n + 1)
    out: List[int] = []
    for i in range(2, n + 1):
        if not p[i]:
            continue
        out.append(i)
        j = i * i
        while j <= n:
            p[j] = False
            j += i
    return out
>>> 12
### brackets
def f(s: str) -> bool:
    st: List[str] = []
    pairs = {")": "(", "]": "[", "}": "{"}
    for c in s:
        if c in "([{":
            st.append(c)
        elif c in pairs:
            if len(st) == 0 or st.pop() != pairs[c]:
                return False
    return not st
>>> "a(b[c]d){e}"
### Viterbi
def f(x):
    score = x[0]
    back: List[torch.Tensor] = []
    for t in range(1, x.size(0)):
        best = score.unsqueeze(1) + 0.1
        v, i = best.expand(2, 2).max(0)
        back.append(i)
        score = v + x[t]
    path = [int(score.argmax())]
    for b in back[::-1]:
        path.append(int(b[path[-1]]))
    path.reverse()
    return path, score
>>> torch.arange(12).mul(0.7).sin().reshape(6, 2)
### flood fill
def f(x):
    seen = torch.zeros(5, 5, dtype=torch.bool)
    todo = [(2, 2)]
    count = 0
    while len(todo) > 0:
        i, j = todo.pop(0)
        if i < 0 or j < 0 or i >= 5 or j >= 5 or bool(seen[i, j]) or x[i, j].item() < 0:
            continue
        seen[i, j] = True
        count += 1
        for d in [(0, 1), (1, 0), (0, -1), (-1, 0)]:
            todo.append((i + d[0], j + d[1]))
    return count, seen
>>> torch.arange(25).mul(0.7).sin().reshape(5, 5)
### Haar wavelet
def f(x):
    out: List[torch.Tensor] = []
    while x.numel() > 1:
        a, b = x[::2], x[1::2]
        out.append((a - b) / 2)
        x = (a + b) / 2
    out.append(x)
    return torch.cat(out[::-1])
>>> torch.arange(8).mul(0.7).sin().reshape(8)
### two optionals
def f(a: Optional[int], b: Optional[int]) -> int:
    if a is not None and b is not None:
        return a + b
    if a is None and b is None:
        return 0
    if a is not None:
        return a
    assert b is not None
    return b
>>> 2, 3
### comprehensions and dicts
def f(x, shape: List[int]):
    parts = [p.sum() * i for i, p in enumerate(x.split(shape[0]))]
    n = {i: i * i for i in range(3)}
    z = [a + b for a, b in zip([1, 2, 3], [4, 5, 6])]
    return torch.stack(parts), n, z, max(z), sum(z), min(1.5, 2.5), abs(-3)
>>> torch.arange(6).mul(0.7).sin().reshape(6), [2, 3]
### reverse Polish
def f(s: str) -> int:
    st: List[int] = []
    for tok in s.split(" "):
        if tok in ["+", "*", "-"]:
            b, a = st.pop(), st.pop()
            st.append(a + b if tok == "+" else a * b if tok == "*" else a - b)
        else:
            st.append(int(tok))
    return st[0]
>>> "3 4 + 2 *"
""")
