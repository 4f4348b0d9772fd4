"""Agents, bounded and pulled like a run: a goal and a model with tools, or a model that decides every move.

Every public name is loaded when it is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from engine.agent.agent import Agent as Agent
    from engine.agent.artifacts import Artifact as Artifact
    from engine.agent.artifacts import Formatters as Formatters
    from engine.agent.artifacts import LinkArtifact as LinkArtifact
    from engine.agent.artifacts import ListArtifact as ListArtifact
    from engine.agent.artifacts import World as World
    from engine.agent.artifacts import alias_of as alias_of
    from engine.agent.artifacts import canonical as canonical
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
    from engine.agent.palette import DecisionTool as DecisionTool
    from engine.agent.palette import InvalidInput as InvalidInput
    from engine.agent.palette import Palette as Palette
    from engine.agent.palette import PaletteError as PaletteError
    from engine.agent.palette import ToolRefused as ToolRefused
    from engine.agent.planning import DefaultPlanner as DefaultPlanner
    from engine.agent.planning import SequentialPlanner as SequentialPlanner
    from engine.agent.prices import DIGESTS as DIGESTS
    from engine.agent.prices import Document as Document
    from engine.agent.prices import FileEntry as FileEntry
    from engine.agent.prices import Folder as Folder
    from engine.agent.prices import ListFolderTool as ListFolderTool
    from engine.agent.prices import PriceChangeFinder as PriceChangeFinder
    from engine.agent.prices import ReadDocumentTool as ReadDocumentTool
    from engine.agent.prices import SplitStatementsTool as SplitStatementsTool
    from engine.agent.prices import Statement as Statement
    from engine.agent.run import AgentRun as AgentRun
    from engine.agent.scripted import ScriptedMoves as ScriptedMoves
    from engine.agent.thinker import Capabilities as Capabilities
    from engine.agent.thinker import DecisionThinker as DecisionThinker
    from engine.agent.thinker import ToolCapability as ToolCapability
    from engine.agent.thinking import DecisionTurn as DecisionTurn
    from engine.agent.thinking import EndReason as EndReason
    from engine.agent.thinking import Exchange as Exchange
    from engine.agent.thinking import Job as Job
    from engine.agent.thinking import JobEnded as JobEnded
    from engine.agent.thinking import JobEvent as JobEvent
    from engine.agent.thinking import JobProgressed as JobProgressed
    from engine.agent.thinking import JobQueued as JobQueued
    from engine.agent.thinking import JobRetrying as JobRetrying
    from engine.agent.thinking import JobStarted as JobStarted
    from engine.agent.thinking import Produced as Produced
    from engine.agent.thinking import Selected as Selected
    from engine.agent.thinking import ThinkerResult as ThinkerResult
    from engine.agent.thinking import ThinkingEnded as ThinkingEnded
    from engine.agent.thinking import ThinkingStarted as ThinkingStarted
    from engine.agent.thinking import Totals as Totals
    from engine.agent.thinking import TurnRecorded as TurnRecorded
    from engine.agent.trace import DecisionTrace as DecisionTrace
    from engine.agent.trace import SinkClosed as SinkClosed
    from engine.agent.traced import Trace as Trace
    from engine.agent.traced import TracedDecision as TracedDecision
    from engine.agent.traced import TracedJob as TracedJob
    from engine.agent.traced import TracedThing as TracedThing
    from engine.agent.traced import TracedTurn as TracedTurn
    from engine.agent.traced import TraceProblem as TraceProblem
    from engine.agent.traced import TraceReader as TraceReader
    from engine.agent.traced import TraceUnreadable as TraceUnreadable
    from engine.agent.traced import read_trace as read_trace
    from engine.agent.traced import trace_of as trace_of
    from engine.agent.turns import ThinkerRun as ThinkerRun
    from engine.catalog import tool as tool
    from engine.deciders.declared import DeclaredClient as DeclaredClient
    from engine.deciders.offline import HeuristicClient as HeuristicClient
    from engine.deciders.offline import ScriptedClient as ScriptedClient
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
    "agent.artifacts": "Artifact Formatters LinkArtifact ListArtifact World alias_of canonical",
    "agent.definition": "AgentContext AgentRequest AgentResult AgentSettings ExecutionStatus FailureKind "
    "GateResult InputValidator Middleware PlannedStep Planner Policy PolicyResult Proceed QualityGate "
    "ResultTransformer ResultValidator Scoped Strategy StrategyResult Validation scoped",
    "agent.events": "AgentCancelled AgentRunCompleted AgentRunStarted Failure GateRejected "
    "LlmCallCompleted LlmCalled ModelChunk ModelSwitched PolicyBlocked Progressed ToolCompleted "
    "ToolStarted TransformationCompleted TurnStarted ValidationCompleted",
    "agent.executor": "CacheAwareToolExecutor DefaultToolExecutor IdempotentToolExecutor ToolExecutor",
    "agent.mcp": "ServerFailed connected",
    "agent.palette": "DecisionTool InvalidInput Palette PaletteError ToolRefused",
    "agent.planning": "DefaultPlanner SequentialPlanner",
    "agent.prices": "DIGESTS Document FileEntry Folder ListFolderTool PriceChangeFinder ReadDocumentTool "
    "SplitStatementsTool Statement",
    "agent.run": "AgentRun",
    "agent.scripted": "ScriptedMoves",
    "agent.thinker": "Capabilities DecisionThinker ToolCapability",
    "agent.thinking": "DecisionTurn EndReason Exchange Job JobEnded JobEvent JobProgressed JobQueued "
    "JobRetrying JobStarted Produced Selected ThinkerResult ThinkingEnded ThinkingStarted Totals "
    "TurnRecorded",
    "agent.trace": "DecisionTrace SinkClosed",
    "agent.traced": "Trace TraceProblem TraceReader TraceUnreadable TracedDecision TracedJob TracedThing "
    "TracedTurn read_trace trace_of",
    "agent.turns": "ThinkerRun",
    "catalog": "tool",
    "deciders.declared": "DeclaredClient",
    "deciders.offline": "HeuristicClient ScriptedClient",
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
