"""What people believe about training."""

from __future__ import annotations

from exercises.beliefs import Beliefs

BELIEFS: Beliefs = {
    "state_dict": [
        (
            {"state_dict()": 0, "its copy()": 0, "its deepcopy": 0, "torch.save": 0},
            "a state_dict has tensors of its own, and they look at the model's memory",
        ),
        (
            {"state_dict()": 100, "its copy()": 0, "its deepcopy": 0, "torch.save": 0},
            "copy() makes another dictionary, with the same tensors in it",
        ),
        (
            {"state_dict()": 100, "its copy()": 100, "its deepcopy": 100, "torch.save": 0},
            "deepcopy copies the tensors with their memory, at the moment of the call",
        ),
    ],
    "running mean": [
        (
            {"running mean": 5, "for a 5": 0},
            "the batch's mean counts for a tenth (momentum=0.1), and the rest is what was there: 0",
        ),
        (
            {"running mean": 4.5, "for a 5": 0.5},
            "BatchNorm's momentum is the weight of the new mean: 0.9 is that of the old one",
        ),
        (
            {"running mean": 0.5, "for a 5": 0},
            "in eval mode the batch's own mean is not looked at: (5 - 0.5) / 1",
        ),
    ],
    "softmax twice": [
        (
            {"logits": 0, "softmax first": 0},
            "cross_entropy takes 1, 0, 0 for logits: its softmax gives the right class 58 %",
        ),
        (
            {"logits": 1, "softmax first": 0},
            "cross_entropy takes logits, and does the softmax itself",
        ),
    ],
    "optimizer memory": [
        (
            {"SGD": 0, "SGD, momentum": 0, "Adam": 0},
            "a running sum has to be somewhere between two steps: one for each number",
        ),
        (
            {"SGD": 1, "SGD, momentum": 2, "Adam": 3},
            "the gradient belongs to the parameter, not to the optimizer",
        ),
        (
            {"SGD": 0, "SGD, momentum": 1, "Adam": 1},
            "Adam has two running means: of the gradients, and of their squares",
        ),
    ],
    "Adam": [
        ([-100, -0.1, -0.0001], "that is SGD's step; Adam divides by the gradients' size"),
        ([-100, -0.1, 0], "that is SGD's step; Adam divides by the gradients' size"),
        ([0.1, 0.1, 0.1], "the right distance, uphill"),
    ],
    "total loss": [
        (
            {"with backward": 10, "without": 10, "under no_grad": 0},
            "backward lets go of what the nodes kept, though the loss is still there",
        ),
        (
            {"with backward": 0, "without": 0, "under no_grad": 0},
            "total's graph leads to all ten losses, and their nodes wait for a backward",
        ),
        (
            {"with backward": 1, "without": 10, "under no_grad": 1},
            "the last batch is gone, too: its loss has the memory of one number",
        ),
    ],
}
