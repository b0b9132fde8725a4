"""What people believe about requests that run together."""

from __future__ import annotations

from exercises.beliefs import Beliefs

BELIEFS: Beliefs = {
    "first and last": [
        (
            {"one by one": [6, 48], "together": [6, 13]},
            "a batch has one result, for all its rows at once: the first gets its answer with the "
            "last",
        ),
        (
            {"one by one": [6, 48], "together": [6, 6]},
            "the fixed price is paid once, but each row still costs 1 ms",
        ),
        (
            {"one by one": [6, 13], "together": [13, 13]},
            "one by one each run pays the fixed price: eight times 5 + 1",
        ),
    ],
    "another size": [
        (3, "rows are joined before the model runs, so none of the four has a result"),
        (
            1,
            "the first does not run alone: it waits for company, and gets the row that cannot be "
            "joined",
        ),
        (2, "the two in front of it are in the same batch, and the batch cannot be made"),
    ],
    "no delay": [
        (
            {"trickle": False, "flood": False},
            "while the model is busy the line grows, and the next batch takes all that is there",
        ),
        (
            {"trickle": True, "flood": True},
            "20 a second come every 50 ms, and a run takes 6: mostly one is alone",
        ),
    ],
    "too many": [
        (
            [0, 1, 2, 3, 4, 5, 6],
            "the line has room for three, and late or gone requests are not computed",
        ),
        ([0, 1, 2, 3, 5, 6], "request 2 has 4 ms, request 3 waits for 3; the first batch takes 9"),
        (
            [0, 1, 4, 5, 6],
            "when request 4 came, 1, 2 and 3 were in line, and no more than three may wait",
        ),
        ([0, 1, 2, 3], "those who left made room in the line for the last two"),
    ],
    "one bad request": [
        ([4], "the three good requests have a right to their answers: each is run by itself"),
        ([4, 3], "an exception does not say which row was to blame, so each has to run alone"),
        ([1, 1, 1, 1], "the batch is tried first; running alone is for the batch that raised"),
    ],
    "in company": [
        (
            {
                "softmax(x, 1)": True,
                "softmax(x, 0)": True,
                "batch_norm, evaluation": True,
                "batch_norm, training": False,
            },
            "dimension 0 is the batch: softmax over it divides by the sum over everybody's rows",
        ),
        (
            {
                "softmax(x, 1)": True,
                "softmax(x, 0)": False,
                "batch_norm, evaluation": False,
                "batch_norm, training": False,
            },
            "in evaluation batch_norm uses the means that it has kept, not those of the batch",
        ),
        (
            dict.fromkeys(
                (
                    "softmax(x, 1)",
                    "softmax(x, 0)",
                    "batch_norm, evaluation",
                    "batch_norm, training",
                ),
                True,
            ),
            "two of them compute a mean or a sum over dimension 0, which is the batch",
        ),
    ],
}
