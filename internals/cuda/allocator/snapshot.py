"""The whole state of an allocator as plain data (`torch/csrc/cuda/Module.cpp`: memorySnapshot;
`torch.cuda.memory._snapshot`).

It consists of dicts, lists, strings and numbers only. So its pickle can be read without this
package: by real PyTorch's `torch.cuda._memory_viz`, and by the viewer at pytorch.org/memory_viz.

A block is "active_allocated", "active_pending_free" (given back, but a stream still works on it) or
"inactive".

How the real one differs: the docstring of `torch.cuda.memory._snapshot` calls the second state
"active_awaiting_free", but its C++ code and the viewer say "active_pending_free", as here. It also
has segments of private pools, and expandable ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .blocks import Block
from .config import AllocatorConfig
from .history import format_frames

if TYPE_CHECKING:
    from .caching_allocator import CachingAllocator

ALLOCATED, PENDING, INACTIVE = "active_allocated", "active_pending_free", "inactive"


def segments(allocator: CachingAllocator) -> list[dict[str, Any]]:
    """Every segment as a dict (`_segment`) with its blocks (`_block`), in the order of addresses.

    Sizes are bytes: `total_size` of the segment, `allocated_size` handed out, `active_size` handed
    out or pending, `requested_size` asked for by the active ones. `segment_type` is "small" or
    "large". With a history the snapshot becomes an entry in it.
    """
    python_only = allocator.history is not None and allocator.history.python_only
    result = [
        _segment(allocator, head, python_only)
        for head in sorted(heads(allocator), key=lambda b: b.pointer)
    ]
    if allocator.history is not None:
        allocator.history.record("snapshot", 0, sum(s["active_size"] for s in result), 0, None)
    return result


def heads(allocator: CachingAllocator) -> list[Block]:
    """The first block of each segment: the one without a predecessor."""
    blocks = [
        *allocator.small.blocks(),
        *allocator.large.blocks(),
        *allocator.allocated.values(),
        *allocator.pending.blocks(),
    ]
    return [block for block in blocks if block.prev is None]


def chain(head: Block) -> list[Block]:
    """The blocks of a segment in the order of their addresses."""
    result: list[Block] = []
    block: Block | None = head
    while block is not None:
        result.append(block)
        block = block.next
    return result


def settings(config: AllocatorConfig) -> dict[str, Any]:
    """The options in effect, under PyTorch's names. Sizes without a limit are -1; options that do
    not exist here are constants.
    """
    return {
        "PYTORCH_CUDA_ALLOC_CONF": config.settings,
        "max_split_size": config.max_split_size if config.max_split_size < 1 << 63 else -1,
        "garbage_collection_threshold": config.garbage_collection_threshold,
        "expandable_segments": False,
        "pinned_num_register_threads": 1,
        "release_lock_on_cudamalloc": False,
        "pinned_use_cuda_host_register": False,
        "roundup_power2_divisions": {
            str(1 << i): n for i, n in enumerate(config.roundup_power2_divisions)
        },
        "graph_capture_record_stream_reuse": False,
    }


def _segment(allocator: CachingAllocator, head: Block, python_only: bool) -> dict[str, Any]:
    """The segment that begins with the block `head`, in PyTorch's schema."""
    blocks = chain(head)
    active = [block for block in blocks if not block.is_free()]
    return {
        "device": allocator.index,
        "address": head.pointer,
        "total_size": sum(block.size for block in blocks),
        "allocated_size": sum(block.size for block in blocks if block.allocated),
        "active_size": sum(block.size for block in active),
        "requested_size": sum(block.requested for block in active),
        "stream": head.stream,
        "segment_type": "small" if head.pool.is_small else "large",
        "segment_pool_id": (0, 0),
        "is_expandable": False,
        "frames": format_frames(head.segment_frames, python_only),
        "blocks": [_block(block, python_only) for block in blocks],
    }


def _block(block: Block, python_only: bool) -> dict[str, Any]:
    """A block in PyTorch's schema, with its state."""
    return {
        "address": block.pointer,
        "size": block.size,
        "requested_size": block.requested,
        "state": ALLOCATED if block.allocated else INACTIVE if block.is_free() else PENDING,
        "frames": format_frames(block.frames, python_only),
    }
