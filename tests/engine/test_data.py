import dataclasses

import pytest

from engine.data import BoundedDataPolicy, DataItem, DataStore, DataSummary, truncated


def item(content: str = "", id: str = "1", source: str = "s", type: str = "t", **more: object) -> DataItem:
    return DataItem(id=id, source=source, type=type, content=content, **more)  # type: ignore[arg-type]


def test_d1_what_is_over_the_number_is_omitted_and_noted():
    policy = BoundedDataPolicy(
        max_items=1, max_content_length=20, max_aggregate_length=250, max_field_length=50
    )
    view = policy.select([item("f" * 100, id="first"), item("s" * 100, id="second")])
    first, note = view.items
    assert first.content == "f[content truncated]"
    assert (view.omitted, view.truncated, view.aggregate_truncated) == (1, 1, 0)
    assert (note.id, note.source, note.type) == ("decision-context-policy", "AICleverness", "selection")
    assert note.content == "omitted 1; t1; a0"
    assert not view.is_complete


def test_d2_what_is_not_included_is_not_counted():
    policy = BoundedDataPolicy(included_types=frozenset({"t"}), included_sources=frozenset({"s"}))
    view = policy.select([item("a"), item("b", type="T"), item("c", source="other")])
    assert [i.content for i in view.items] == ["a"]
    assert view.is_complete


def test_d3_the_note_on_metadata_overwrites_when_no_other_key_is_left():
    policy = BoundedDataPolicy(max_metadata_key_length=1)
    (bounded,) = policy.select([item(metadata={"[": "x", "[x": "y"})]).items
    assert bounded.metadata == {"[": "0; collisions 1"}


def test_d4_a_note_that_does_not_fit_is_left_out():
    view = BoundedDataPolicy(max_aggregate_length=1).select([item("a")])
    assert (view.items, view.omitted) == ((), 1)


def test_d5_the_aggregate_cuts_the_item_that_passes_it():
    view = BoundedDataPolicy(max_aggregate_length=200).select([item("a" * 100), item("b" * 100)])
    assert [len(i.content) for i in view.items] == [100, 70]
    assert view.items[1].content.endswith("[content truncated]")
    assert (view.omitted, view.truncated, view.aggregate_truncated) == (0, 0, 1)


def test_d6_nothing_has_no_summary():
    assert DataSummary.of(None) is None
    assert DataSummary.of([]) is None


def test_d7_a_summary_counts_items_and_distinct_types_in_order():
    items = [item("1", type="A"), item("2", type="A"), item("3", type="B")]
    assert DataSummary.of(items) == DataSummary(3, ("A", "B"), ("1", "2", "3"))


def test_d8_long_texts_of_a_summary_are_cut_to_eighty():
    summary = DataSummary.of([item("c" * 100, type="t" * 100)])
    assert summary == DataSummary(1, ("t" * 79 + "…",), ("c" * 79 + "…",))


def test_d9_a_summary_shows_five_contents_and_ten_types():
    summary = DataSummary.of([item(str(n), type=f"t{n}") for n in range(12)])
    assert summary is not None
    assert (summary.item_count, len(summary.previews)) == (12, 5)
    assert summary.types == tuple(f"t{n}" for n in range(10))


def test_d10_a_summary_does_not_follow_the_list_it_was_made_of():
    items = [item("1")]
    summary = DataSummary.of(items)
    items.append(item("2"))
    assert summary == DataSummary(1, ("t",), ("1",))


def test_d11_a_shared_type_counts_once():
    types = ["t0", *(f"t{n}" for n in range(11))]
    summary = DataSummary.of([item("c" * 200, type=kind) for kind in types])
    assert summary is not None
    assert (summary.item_count, len(summary.types), summary.types[0]) == (12, 10, "t0")
    assert [len(preview) for preview in summary.previews] == [80] * 5


def test_a_later_smaller_item_may_still_fit():
    view = BoundedDataPolicy(max_aggregate_length=60).select(
        [item("a" * 20), item("x", id="i" * 50), item("b")]
    )
    assert [i.content for i in view.items] == ["a" * 20, "b"]
    assert view.omitted == 1


def test_what_an_item_shows_is_bounded_and_what_it_is_stays():
    long = DataItem(id="i" * 300, source="s" * 300, type="t" * 300, content="", action_id="a" * 300)
    (bounded,) = BoundedDataPolicy().select([long]).items
    assert (bounded.id, bounded.source, bounded.type) == (long.id, long.source, long.type)
    assert [len(text) for text in (bounded.shown_id, bounded.shown_source, bounded.shown_type)] == [256] * 3
    assert bounded.shown_id.endswith("i[id truncated]")
    assert bounded.shown_source.endswith("s[source truncated]")
    assert bounded.shown_type.endswith("t[type truncated]")
    assert bounded.action_id is not None
    assert bounded.action_id.endswith("a[action truncated]")
    assert len(bounded.action_id) == 256


def test_short_fields_need_no_display():
    (bounded,) = BoundedDataPolicy().select([item("a", action_id="act")]).items
    assert (bounded.display_id, bounded.display_source, bounded.display_type) == (None, None, None)
    assert bounded.action_id == "act"


def test_of_much_metadata_the_first_entries_are_kept_and_the_rest_counted():
    policy = BoundedDataPolicy(max_metadata_entries=3, max_metadata_value_length=30)
    (bounded,) = policy.select([item(metadata={f"k{n}": "v" * 50 for n in range(5)})]).items
    assert list(bounded.metadata) == ["k0", "k1", "[metadata entries omitted]"]
    assert bounded.metadata["k0"] == "vvvv[metadata value truncated]"
    assert bounded.metadata["[metadata entries omitted]"] == "3"


def test_the_note_on_metadata_finds_a_free_key():
    policy = BoundedDataPolicy(max_metadata_entries=2)
    metadata = {"[metadata entries omitted]": "mine", "b": "2", "c": "3"}
    (bounded,) = policy.select([item(metadata=metadata)]).items
    assert bounded.metadata == {"[metadata entries omitted]": "mine", "[metadata entries omitted 2]": "2"}


def test_metadata_counts_towards_the_aggregate():
    frame = len("1 [t] from s: ") + len("key") + 1 + len("value") + 2
    view = BoundedDataPolicy(max_aggregate_length=frame + 4).select(
        [item("12345678", metadata={"key": "value"})]
    )
    assert len(view.items[0].content) == 4


@pytest.mark.parametrize(
    ("aggregate", "content"),
    [
        (300, "Decision data policy: omitted 1 item(s); truncated 0 item(s); aggregate-truncated 0 item(s)."),
        (15 + 2 + 55 + 20, "omitted 1; t0; a0"),
        (15 + 2 + 55 + 10, "o1;t0;a0"),
        (15 + 2 + 55 + 3, "[co"),
    ],
)
def test_the_note_is_as_long_as_there_is_room(aggregate, content):
    policy = BoundedDataPolicy(max_items=1, max_aggregate_length=aggregate)
    assert policy.select([item("a"), item("b")]).items[-1].content == content


def test_the_short_note_begins_with_what_happened():
    cut = BoundedDataPolicy(max_content_length=20).select([item("a" * 30)])
    assert cut.items[-1].content == "truncated 1; o0; a0"
    by_aggregate = BoundedDataPolicy(max_aggregate_length=200, max_content_length=90)
    view = by_aggregate.select([item("a" * 90), item("b" * 85), item("", id="x" * 90)])
    assert (view.omitted, view.truncated, view.aggregate_truncated) == (1, 0, 1)


@pytest.mark.parametrize(
    "bound", [f.name for f in dataclasses.fields(BoundedDataPolicy) if f.name.startswith("max_")]
)
@pytest.mark.parametrize("value", [0, -1])
def test_a_bound_must_be_above_zero(bound, value):
    with pytest.raises(ValueError, match=f"{bound} must be above zero"):
        BoundedDataPolicy(**{bound: value})


@pytest.mark.parametrize(
    ("limit", "text"),
    [(15, "abcdefghijklmno"), (14, "a[w truncated]"), (13, "[w truncated]"), (3, "[w "), (0, ""), (-1, "")],
)
def test_a_text_is_cut_to_exactly_the_limit(limit, text):
    assert truncated("abcdefghijklmno", limit, "w") == text


def test_a_store_keeps_everything_in_order():
    store = DataStore([item("a")])
    store.add(item("b", type="u"), item("c"))
    assert [i.content for i in store] == ["a", "b", "c"]
    assert [i.content for i in store.of_type("t")] == ["a", "c"]
    assert [i.content for i in store.since(1)] == ["b", "c"]
    assert len(store) == 3


def test_a_view_finds_items_by_original_type_and_id():
    view = BoundedDataPolicy().select([item("a", id="x" * 300), item("b", id="x" * 300), item("c", type="u")])
    found = view.by_id("x" * 300)
    assert found is not None
    assert found.content == "a"
    assert view.by_id("nobody") is None
    assert [i.content for i in view.of_type("u")] == ["c"]
    assert view.is_complete
