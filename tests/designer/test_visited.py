"""Back and forward of places."""

from designer.canvas.visited import Visited
from designer.document.design import Viewpoint

A, B, C = (Viewpoint(x, 0, 1) for x in range(3))


def test_back_and_forward_lead_through_what_was_left():
    visited = Visited()
    visited.leave(A)
    visited.leave(B)
    assert [visited.back(C), visited.back(B), visited.back(A)] == [B, A, None]
    assert [visited.forward(A), visited.forward(B), visited.forward(C)] == [B, C, None]


def test_a_jump_forgets_what_was_ahead():
    visited = Visited()
    visited.leave(A)
    assert visited.back(B) == A
    visited.leave(A)
    assert visited.forward(C) is None
    assert visited.back(C) == A


def test_a_place_left_twice_is_gone_back_to_once():
    visited = Visited()
    visited.leave(A)
    visited.leave(A)
    assert [visited.back(B), visited.back(A)] == [A, None]


def test_only_the_last_hundred_places_are_remembered():
    visited = Visited()
    for x in range(300):
        visited.leave(Viewpoint(x, 0, 1))
    here, steps = Viewpoint(-1, 0, 1), 0
    while there := visited.back(here):
        here, steps = there, steps + 1
    assert steps == 100
    assert here.x == 200
