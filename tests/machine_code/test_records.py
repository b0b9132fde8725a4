"""Arguments of kernels as records: what their slots are, and that nothing changes places."""

from __future__ import annotations

from typing import NamedTuple

from internals.machine_code.records import Pointer, filled, flat, signature_of


class Place(NamedTuple):
    address: Pointer
    row: int


class Move(NamedTuple):
    source: Place
    rows: int
    factor: float
    target: Place


def test_a_record_is_its_slots_in_order() -> None:
    move = Move(Place(4096, 32), 7, 0.5, Place(8192, 16))
    assert signature_of(Move) == "*f4 i8 i8 f8 *f4 i8"
    assert tuple(flat(move)) == (4096, 32, 7, 0.5, 8192, 16)
    assert filled(Move, flat(move)) == move
