"""The kinds that wait: for a person, or for time to pass."""

from engine.actions.work import Refused, Work, act
from engine.catalog import ActionResult, Inquiry
from engine.deciders.parser import matching
from engine.kinds import Ask, Sleep


@act.register
async def ask(parameters: Ask, work: Work) -> ActionResult:
    """Ask the person of the session; the time they take is not charged to the run."""
    caller = work.waiting
    person = caller.parts.person
    if person is None:
        raise Refused("Nobody is there to be asked.")
    inquiry = Inquiry(work.context.node, work.text(parameters.text), parameters.choices)
    with caller.off_the_clock():
        said = await person(inquiry)
    if said is not None and parameters.choices:
        said = matching(said, parameters.choices)
    if said is None:
        raise Refused("No answer was given.")
    return ActionResult(properties={parameters.property: said})


@act.register
async def sleep(parameters: Sleep, work: Work) -> ActionResult:
    """Let time pass on the clock of the run."""
    await work.waiting.parts.clock.sleep(parameters.seconds)
    return ActionResult()
