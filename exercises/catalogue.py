"""Which exercises there are: a topic for each notebook, and six tracks of "build it yourself" in
the notebooks they belong to.

A topic's module is imported when one of its exercises is asked for, so that `from exercises import
check` costs nothing.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable, Iterator

from exercises.exercise import Exercise

NOTEBOOKS: dict[str, tuple[str, ...]] = {
    "00_start_here": ("start",),
    "01_tensors": ("tensors",),
    "02_python_objects": ("objects",),
    "03_zero_copy": ("zero_copy",),
    "04_storage_and_views": ("views", "build_strides"),
    "05_allocators_and_the_big_picture": ("allocators", "build_free_list"),
    "06_aten_dispatcher_codegen": ("dispatch",),
    "07_autograd": ("autograd", "build_node"),
    "08_derivatives": ("derivatives",),
    "09_inplace_and_versions": ("versions",),
    "10_training": ("training",),
    "11_eager_script_tracing": ("tracing",),
    "12_scripting_and_the_ast": ("scripting",),
    "13_the_ir_by_hand": ("ir",),
    "14_passes": ("passes", "build_pass"),
    "15_the_interpreter": ("interpreter", "build_instruction"),
    "16_serialization": ("archives",),
    "17_other_languages": ("languages",),
    "18_torchscript_to_today": ("export",),
    "19_gpu_memory": ("gpu_memory",),
    "20_kernels": ("kernels",),
    "21b_streams_and_pipelines": ("streams",),
    "22_fusion": ("fusion",),
    "22b_loops_to_instructions": ("build_kernel",),
    "23b_loops": ("speed",),
    "24_payloads": ("payloads",),
    "25_two_https": ("http",),
    "26_batching": ("batching",),
}
NOTEBOOK_OF = {topic: notebook for notebook, topics in NOTEBOOKS.items() for topic in topics}


def find(name: str) -> Exercise:
    """The exercise of a name such as "zero_copy_1". Raises LookupError, and says what there is,
    when it has no such name.
    """
    topic = name if name in NOTEBOOK_OF else name.rpartition("_")[0]
    if topic in NOTEBOOK_OF:
        for exercise in of_topic(topic):
            if exercise.name == name:
                return exercise
        known = [exercise.name for exercise in of_topic(topic)]
    else:
        close = difflib.get_close_matches(topic or name, NOTEBOOK_OF, 3, 0.4)
        known = [f"{topic}_1" for topic in close or NOTEBOOK_OF]
    raise LookupError(f"there is no exercise {name!r}; did you mean {', '.join(known)}?")


def of_topic(topic: str) -> list[Exercise]:
    """The exercises of a topic in their order; none if its file is not written."""
    module = importlib.import_module(f"exercises.topics.{topic}")
    return [
        value
        for value in vars(module).values()
        if isinstance(value, Exercise) and value.topic == topic
    ]


def of_notebook(notebook: str) -> list[Exercise]:
    return [exercise for topic in NOTEBOOKS.get(notebook, ()) for exercise in of_topic(topic)]


def everything(names: Iterable[str] = ()) -> Iterator[Exercise]:
    """All exercises in the order of the notebooks, or those whose name, topic or notebook starts
    with one of `names`.
    """
    wanted = tuple(names)
    for notebook in NOTEBOOKS:
        for exercise in of_notebook(notebook):
            if not wanted or exercise.name.startswith(wanted) or notebook.startswith(wanted):
                yield exercise
