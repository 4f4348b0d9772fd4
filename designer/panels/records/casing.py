"""Making a test of a decision: a case with what its run started from and answered, and the right answer."""

from collections.abc import Iterable, Mapping, Sequence

from engine import UNKNOWN, Event
from engine.evaluate import Case, CaseTree, Expectation, case_of
from engine.records import RecordedDecision


def id_of(decision: RecordedDecision) -> str:
    """What the case of a decision is called; the decision's id is in it, so that erasing finds it."""
    return f"record-{decision.record.decision_id}"


def case_from(
    decision: RecordedDecision, others: Iterable[RecordedDecision], events: Sequence[Event] | None
) -> Case:
    """The case of a decision of a tree, pinned by what was recorded, or by the events of its run if known.

    ``others`` are the decisions of the same run. The right answer is the confirmed one, else the one that
    was followed. The case names its tree but not the version, so that it tests later ones too.
    """
    record, place = decision.record, decision.record.tree
    if place is None:
        raise ValueError("only a decision of a tree becomes a case")
    right = _answer(decision)
    if events is not None:
        case = case_of(events, id_of(decision))
    else:
        case = Case.model_validate(
            {
                "id": id_of(decision),
                **_inputs(record.state),
                "answers": _answers((decision, *others)),
            }
        )
    given = case.answers.get(place.node, ())
    visits = [given] if isinstance(given, str) else list(given)
    visits[place.visit - 1 : place.visit] = [right]
    return case.model_copy(
        update={
            "tree": CaseTree(id=place.tree_id),
            "budget": None,
            "answers": {**case.answers, place.node: tuple(visits)},
            "expect": Expectation(answers={place.node: visits[-1]}),
        }
    )


def _answer(decision: RecordedDecision) -> str:
    place = decision.record.tree
    confirmed = decision.confirmed.get(place.node) if place else None
    if isinstance(confirmed, str):
        return confirmed
    return (place.transition if place else None) or UNKNOWN


def _answers(decisions: Iterable[RecordedDecision]) -> Mapping[str, Sequence[str]]:
    visits: dict[str, dict[int, str]] = {}
    for decision in decisions:
        if (place := decision.record.tree) is not None:
            visits.setdefault(place.node, {})[place.visit] = place.transition or UNKNOWN
    return {node: [given[visit] for visit in sorted(given)] for node, given in visits.items()}


def _inputs(state: object) -> Mapping[str, object]:
    """Parameters and data of a recorded state, as far as a case can give them."""
    members = state if isinstance(state, dict) else {}
    parameters, data = members.get("parameters"), members.get("data")
    inputs: dict[str, object] = {}
    if isinstance(parameters, dict):
        inputs["params"] = {name: text for name, text in parameters.items() if isinstance(text, str)}
    items = [
        {
            "id": str(item.get("id") or f"item-{number}"),
            "source": str(item.get("source") or "record"),
            "type": str(item.get("type") or "text"),
            "content": item["content"],
        }
        for number, item in enumerate(data if isinstance(data, list) else (), 1)
        if isinstance(item, dict) and isinstance(item.get("content"), str)
    ]
    if items:
        inputs["data"] = items
    return {name: value for name, value in inputs.items() if value}
