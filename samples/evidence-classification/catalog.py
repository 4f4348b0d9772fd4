"""The one action of this sample: it hands in a piece of evidence without asking anybody."""

from engine import ActionContext, ActionResult, DataItem, action


@action("collectEvidence")
async def collect_evidence(context: ActionContext) -> ActionResult:
    """Put one item of evidence, with where it comes from, into the run's data."""
    context.data.add(
        DataItem(
            id="evidence-1",
            source="sample",
            type="evidence",
            content="The product page says the export to CSV is part of every plan.",
            action_id=context.node,
            metadata={"language": "en", "kind": "product page", "reliability": "primary"},
        )
    )
    return ActionResult(properties={"evidenceCollected": "true"}, summary="One page was read.")
