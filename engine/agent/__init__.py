"""Agents: a goal, a model with tools, and a pipeline of checks around it, bounded and pulled like a run.

Every public name is loaded when it is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from engine.agent.agent import Agent as Agent
    from engine.agent.definition import AgentContext as AgentContext
    from engine.agent.definition import AgentRequest as AgentRequest
    from engine.agent.definition import AgentResult as AgentResult
    from engine.agent.definition import AgentSettings as AgentSettings
    from engine.agent.definition import ExecutionStatus as ExecutionStatus
    from engine.agent.definition import FailureKind as FailureKind
    from engine.agent.definition import GateResult as GateResult
    from engine.agent.definition import InputValidator as InputValidator
    from engine.agent.definition import Middleware as Middleware
    from engine.agent.definition import PlannedStep as PlannedStep
    from engine.agent.definition import Planner as Planner
    from engine.agent.definition import Policy as Policy
    from engine.agent.definition import PolicyResult as PolicyResult
    from engine.agent.definition import Proceed as Proceed
    from engine.agent.definition import QualityGate as QualityGate
    from engine.agent.definition import ResultTransformer as ResultTransformer
    from engine.agent.definition import ResultValidator as ResultValidator
    from engine.agent.definition import Scoped as Scoped
    from engine.agent.definition import Strategy as Strategy
    from engine.agent.definition import StrategyResult as StrategyResult
    from engine.agent.definition import Validation as Validation
    from engine.agent.definition import scoped as scoped
    from engine.agent.events import AgentCancelled as AgentCancelled
    from engine.agent.events import AgentRunCompleted as AgentRunCompleted
    from engine.agent.events import AgentRunStarted as AgentRunStarted
    from engine.agent.events import Failure as Failure
    from engine.agent.events import GateRejected as GateRejected
    from engine.agent.events import LlmCallCompleted as LlmCallCompleted
    from engine.agent.events import LlmCalled as LlmCalled
    from engine.agent.events import ModelChunk as ModelChunk
    from engine.agent.events import ModelSwitched as ModelSwitched
    from engine.agent.events import PolicyBlocked as PolicyBlocked
    from engine.agent.events import Progressed as Progressed
    from engine.agent.events import ToolCompleted as ToolCompleted
    from engine.agent.events import ToolStarted as ToolStarted
    from engine.agent.events import TransformationCompleted as TransformationCompleted
    from engine.agent.events import TurnStarted as TurnStarted
    from engine.agent.events import ValidationCompleted as ValidationCompleted
    from engine.agent.executor import CacheAwareToolExecutor as CacheAwareToolExecutor
    from engine.agent.executor import DefaultToolExecutor as DefaultToolExecutor
    from engine.agent.executor import IdempotentToolExecutor as IdempotentToolExecutor
    from engine.agent.executor import ToolExecutor as ToolExecutor
    from engine.agent.mcp import ServerFailed as ServerFailed
    from engine.agent.mcp import connected as connected
    from engine.agent.planning import DefaultPlanner as DefaultPlanner
    from engine.agent.planning import SequentialPlanner as SequentialPlanner
    from engine.agent.run import AgentRun as AgentRun
    from engine.catalog import tool as tool
    from engine.kinds import McpServer as McpServer
    from engine.llm import CallingMessage as CallingMessage
    from engine.llm import ToolCall as ToolCall
    from engine.llm import ToolMessage as ToolMessage
    from engine.tools import FunctionTool as FunctionTool
    from engine.tools import Tool as Tool
    from engine.tools import ToolDefinition as ToolDefinition
    from engine.tools import ToolInvocation as ToolInvocation
    from engine.tools import ToolResult as ToolResult
    from engine.transcript import AgentBuilder as AgentBuilder
    from engine.transcript import MarkdownAgentBuilder as MarkdownAgentBuilder

_HOMES: Final = {
    "agent.agent": "Agent",
    "agent.definition": "AgentContext AgentRequest AgentResult AgentSettings ExecutionStatus FailureKind "
    "GateResult InputValidator Middleware PlannedStep Planner Policy PolicyResult Proceed QualityGate "
    "ResultTransformer ResultValidator Scoped Strategy StrategyResult Validation scoped",
    "agent.events": "AgentCancelled AgentRunCompleted AgentRunStarted Failure GateRejected LlmCallCompleted "
    "LlmCalled ModelChunk ModelSwitched PolicyBlocked Progressed ToolCompleted ToolStarted "
    "TransformationCompleted TurnStarted ValidationCompleted",
    "agent.executor": "CacheAwareToolExecutor DefaultToolExecutor IdempotentToolExecutor ToolExecutor",
    "agent.mcp": "ServerFailed connected",
    "agent.planning": "DefaultPlanner SequentialPlanner",
    "agent.run": "AgentRun",
    "catalog": "tool",
    "kinds": "McpServer",
    "llm": "CallingMessage ToolCall ToolMessage",
    "tools": "FunctionTool Tool ToolDefinition ToolInvocation ToolResult",
    "transcript": "AgentBuilder MarkdownAgentBuilder",
}
_HOME_OF: Final = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = sorted(_HOME_OF)  # noqa: PLE0605  (the table above is the list)


def __getattr__(name: str) -> object:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'engine.agent' has no attribute {name!r}")
    return getattr(import_module(f"engine.{home}"), name)
