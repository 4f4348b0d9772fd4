"""Things found by where they are."""

from hypothesis import given
from hypothesis import strategies as st

from designer.document.cells import Cells, meet

numbers = st.floats(-5000, 5000)
lengths = st.one_of(st.floats(0, 3000), st.just(1e9))
boxes = st.tuples(numbers, numbers, lengths, lengths)


@given(st.lists(boxes, max_size=30), boxes, st.sets(st.integers(0, 29)))
def test_what_meets_a_box_is_found_wherever_it_was_before(placed, box, dropped):
    cells: Cells[int] = Cells()
    for key, place in enumerate(placed):
        cells.put(key, (-place[0], 3.0, 1.0, 1.0))
        cells.put(key, place)
    for key in dropped:
        cells.drop(key)
    left = {key: place for key, place in enumerate(placed) if key not in dropped}
    assert set(cells.near(box)) == {key for key, place in left.items() if meet(place, box)}
    assert all((key in cells) == (key in left) for key in range(30))


def test_things_are_found_in_the_order_they_came():
    cells: Cells[str] = Cells()
    for key in "cab":
        cells.put(key, (0, 0, 10, 10))
    assert cells.near((5, 5, 0, 0)) == ["c", "a", "b"]
