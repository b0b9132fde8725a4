"""Backward runs on the streams of forward, and its caller may use what comes out at once."""

from __future__ import annotations

import pytest

import internals as torch


def test_each_node_runs_on_the_stream_of_its_forward() -> None:
    side, other = torch.cuda.Stream(), torch.cuda.Stream()
    x = torch.ones(4, device="cuda", requires_grad=True)
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        y = x.exp()
    side_done = side.record_event()
    torch.cuda.current_stream().wait_event(side_done)
    z = y.sin().sum()
    with torch.cuda.stream(other), torch.cuda.record_activity() as recording:
        z.backward()
        torch.cuda.synchronize()
    kernels = recording.of_kind("kernel")
    streams = [k.stream for k in kernels]
    assert side.cuda_stream in streams and 0 in streams
    # sin first, on the default stream; then exp, on the side
    assert streams.index(0) < streams.index(side.cuda_stream)
    assert torch.cuda.current_stream() == torch.cuda.default_stream()


@pytest.mark.parametrize("caller_on_side", [False, True])
def test_gradients_are_right_without_a_word_about_streams(caller_on_side: bool) -> None:
    """The forward is ordered by hand, as it has to be; backward by the engine, also where two
    streams add to one gradient.
    """
    a, b = torch.cuda.Stream(), torch.cuda.Stream()
    x = torch.arange(4.0, device="cuda").requires_grad_()
    expected = torch.arange(4.0).requires_grad_()
    ((expected * 2).exp() + (expected * 3).sin()).sum().backward()
    for s in (a, b):
        s.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(a):
        torch.cuda._sleep(20_000)
        u = (x * 2).exp()
    with torch.cuda.stream(b):
        v = (x * 3).sin()
        torch.cuda._sleep(20_000)
    for s in (a, b):
        torch.cuda.current_stream().wait_stream(s)
    loss = (u + v).sum()
    caller = torch.cuda.Stream() if caller_on_side else torch.cuda.current_stream()
    caller.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(caller):
        loss.backward()
        twice = x.grad * 2  # on the caller's stream, which waits for those of backward
        caller.synchronize()
        assert torch.allclose(twice.cpu(), 2 * expected.grad)
    (g,) = torch.autograd.grad((x * x).sum(), x)
    assert torch.equal(g.cpu(), 2 * x.detach().cpu())


def test_the_callers_streams_come_back_after_an_error() -> None:
    def fail(grad: object) -> None:
        raise ValueError("no")

    side = torch.cuda.Stream()
    x = torch.ones(2, device="cuda", requires_grad=True)
    with torch.cuda.stream(side):
        y = x * 2
        y.register_hook(fail)
        z = y.sum()
    with pytest.raises(ValueError, match="no"):
        z.backward()
    assert torch.cuda.current_stream() == torch.cuda.default_stream()
