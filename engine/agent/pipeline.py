"""The stages of a run, in order; each may be empty."""

import logging
from dataclasses import replace
from functools import partial

from engine.agent import progress
from engine.agent.definition import (
    GATE_FAILURES,
    RETRY_COUNT,
    AgentResult,
    GateResult,
    Proceed,
    serving,
)
from engine.agent.events import GateRejected, PolicyBlocked, TransformationCompleted, ValidationCompleted
from engine.agent.loop import Round
from engine.agent.pulled import Halted
from engine.agent.running import Running, failed, succeeded

log = logging.getLogger(__name__)


async def worked_on(run: Running) -> AgentResult:
    """What comes of a run, from its policies to the last form of its result."""
    for stage in (_blocked, _invalid, _planned, _known):
        run.check()
        if (result := await stage(run)) is not None:
            return result
    run.check()
    proceed: Proceed = partial(_checked, run)
    for part in reversed(serving(run.agent.middleware, run.context)):
        proceed = partial(part.run, run.context, proceed)
    return await proceed()


async def _blocked(run: Running) -> AgentResult | None:
    for policy in serving(run.agent.policies, run.context, by_priority=True):
        said = await policy.evaluate(run.context)
        if said.applied and (said.recommendation or "").lower() == "block":
            reason = said.reasoning or f"Policy '{policy.name}' disallowed execution."
            run.report(progress.blocked(policy.name, reason))
            run.transcript.note(f"Blocked by policy {policy.name}", reason)
            run.tell(PolicyBlocked(*run.stamp, policy.name, reason))
            return failed("PolicyBlocked", reason)
    return None


async def _invalid(run: Running) -> AgentResult | None:
    if run.misfit is not None:
        return _refused(run, "parameters", run.misfit)
    for validator in serving(run.agent.input_validators, run.context):
        said = await validator.validate(run.context)
        if not said.is_valid:
            return _refused(run, validator.name, said.error)
    return None


def _refused(run: Running, validator: str, error: str | None) -> AgentResult:
    line = progress.invalid_input(validator, error)
    run.report(line)
    run.transcript.note("Input validation failed", error)
    return failed("InputValidationFailed", error or line)


async def _planned(run: Running) -> None:
    planners, wanted = serving(run.agent.planners, run.context), run.settings.planner
    if wanted is None and not planners:
        return
    try:
        chosen = [planner for planner in planners if wanted in (None, planner.name)]
        if not chosen:
            raise LookupError(f"There is no planner '{wanted}'.")  # noqa: TRY301 - one way to fail
        plan = tuple(await chosen[0].plan(run.context))
    except Halted:
        raise
    except Exception as error:  # noqa: BLE001 - a run goes on without a plan
        log.warning("A planner failed with %s.", type(error).__name__)
        run.report(progress.unplanned(error))
        return
    run.context.items["plan"] = plan
    run.report(progress.planned(len(plan)))


async def _known(run: Running) -> AgentResult | None:
    for strategy in serving(run.agent.strategies, run.context):
        said = await strategy.execute(run.context)
        run.steps.extend(said.artifacts)
        if said.success:
            run.said(said.output or "", is_final=True)
            return succeeded(said.output, said.reasoning)
    return None


async def _checked(run: Running) -> AgentResult:
    """Rounds of turns until the gates let a result pass or no retry is left; then its last form."""
    failures: list[str] = []
    most = run.settings.max_quality_retries
    while True:
        feedback = "\n".join(failures) or None
        if feedback is not None:
            line = progress.retrying(run.retries, most)
            run.report(line)
            run.transcript.retry(run.retries, line)
        result = await Round(run, run.retries + 1, feedback).work()
        result, rejection = await _gated(run, result)
        if rejection is None:
            break
        failures.append(rejection.reason or "")
        if not rejection.retry or run.retries >= most:
            found = {GATE_FAILURES: tuple(failures), RETRY_COUNT: run.retries}
            # A round that had failed of itself keeps its own kind of failure.
            result = replace(
                result,
                success=False,
                reasoning=rejection.reason,
                metadata={**result.metadata, **found},
                failure_kind="QualityRejected" if result.success else result.failure_kind,
            )
            break
        run.retries += 1
    return await _formed(run, await _validated(run, result))


async def _gated(run: Running, result: AgentResult) -> tuple[AgentResult, GateResult | None]:
    """The result as the gates leave it, and the word of the one that rejects it."""
    for gate in serving(run.agent.gates, run.context, by_priority=True):
        run.check()
        said = await gate.evaluate(run.context, result)
        result = said.replacement or result
        if not said.approved:
            reason = said.reason or f"Quality gate '{gate.name}' rejected the result."
            run.report(progress.rejected(gate.name, reason))
            run.transcript.note(f"Quality gate rejected: {gate.name}", reason)
            run.tell(GateRejected(*run.stamp, gate.name, said.retry, reason, run.retries))
            return result, replace(said, reason=reason)
    return result, None


async def _validated(run: Running, result: AgentResult) -> AgentResult:
    for validator in serving(run.agent.validators, run.context):
        run.check()
        said = await validator.validate(run.context, result)
        run.tell(ValidationCompleted(*run.stamp, validator.name, said))
        if not said.is_valid:
            line = progress.invalid(validator.name, said.error)
            run.report(line)
            run.transcript.note(line, said.error)
            kind = "ResultRejected" if result.success else result.failure_kind
            return replace(result, success=False, reasoning=said.error or line, failure_kind=kind)
    return result


async def _formed(run: Running, result: AgentResult) -> AgentResult:
    for transformer in serving(run.agent.transformers, run.context, by_priority=True):
        run.check()
        result = await transformer.transform(run.context, result)
        run.tell(TransformationCompleted(*run.stamp, transformer.name))
    return result
