"""The kinds that change the state and nothing else."""

from engine.actions.work import Work, act
from engine.catalog import ActionResult
from engine.kinds import SetProperty, TemplateToProperty


@act.register
async def set_property(parameters: SetProperty, work: Work) -> ActionResult:
    """Set a property; one that is null counts as not there."""
    work.context.properties[parameters.property] = parameters.value
    return ActionResult()


@act.register
async def template_to_property(parameters: TemplateToProperty, work: Work) -> ActionResult:
    """Fill a text in."""
    return ActionResult(properties={parameters.property: work.text(parameters.template)})
