"""From a dataset to batches (`torch/utils/data`): datasets, samplers, collate functions, and the
`DataLoader` that combines them.

How the real one differs: it also has worker processes, page-locked memory, data pipes and a sampler
for distributed training.
"""

from internals.utils.data.collate import default_collate, default_convert
from internals.utils.data.dataloader import DataLoader, get_worker_info
from internals.utils.data.dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from internals.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

__all__ = [
    "BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "IterableDataset",
    "RandomSampler", "Sampler", "SequentialSampler", "StackDataset", "Subset",
    "SubsetRandomSampler", "TensorDataset", "WeightedRandomSampler", "default_collate",
    "default_convert", "get_worker_info", "random_split",
]  # fmt: skip
