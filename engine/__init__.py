"""Treewright's engine: decision trees that are checked before they run and bounded while they run.

The names below are the front door; each is loaded when first used::

    from pathlib import Path

    from engine import Session, read_tree

    tree = read_tree(Path("tree.json").read_bytes()).tree
    result = await Session(decider=...).start(tree).finish()

Other fronts: :mod:`engine.agent`, :mod:`engine.analysis`, :mod:`engine.evaluate` and :mod:`engine.records`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from engine.actions import catalog_of as catalog_of
    from engine.actions import coded_catalog_of as coded_catalog_of
    from engine.actions import troubles_of as troubles_of
    from engine.analysis import bounds as bounds
    from engine.asking import AskedModel as AskedModel
    from engine.asking import DeciderName as DeciderName
    from engine.asking import DeciderRefused as DeciderRefused
    from engine.asking import DeciderSettings as DeciderSettings
    from engine.asking import model_of as model_of
    from engine.asking import settings_of as settings_of
    from engine.budget import DEFAULT_LIMITS as DEFAULT_LIMITS
    from engine.budget import Clock as Clock
    from engine.budget import LimitName as LimitName
    from engine.budget import Limits as Limits
    from engine.budget import SystemClock as SystemClock
    from engine.budget import Usage as Usage
    from engine.catalog import Action as Action
    from engine.catalog import ActionContext as ActionContext
    from engine.catalog import ActionResult as ActionResult
    from engine.catalog import ActionStatus as ActionStatus
    from engine.catalog import Catalog as Catalog
    from engine.catalog import FunctionAction as FunctionAction
    from engine.catalog import FunctionPredicate as FunctionPredicate
    from engine.catalog import Inquiry as Inquiry
    from engine.catalog import Person as Person
    from engine.catalog import Predicate as Predicate
    from engine.catalog import PredicateContext as PredicateContext
    from engine.catalog import action as action
    from engine.catalog import predicate as predicate
    from engine.checks import Checker as Checker
    from engine.checks import Runnable as Runnable
    from engine.checks import check as check
    from engine.checks import problems_of as problems_of
    from engine.checks import runnable as runnable
    from engine.checks.fixing import FIXABLE as FIXABLE
    from engine.checks.fixing import Fix as Fix
    from engine.checks.fixing import fix as fix
    from engine.checks.fixing import fixes as fixes
    from engine.conversation import ContextBuilder as ContextBuilder
    from engine.conversation import Conversation as Conversation
    from engine.conversation import Prepared as Prepared
    from engine.conversation import SlidingConversation as SlidingConversation
    from engine.conversation import build_context as build_context
    from engine.conversation import estimate_tokens as estimate_tokens
    from engine.data import BoundedDataPolicy as BoundedDataPolicy
    from engine.data import DataItem as DataItem
    from engine.data import DataPolicy as DataPolicy
    from engine.data import DataSnapshot as DataSnapshot
    from engine.data import DataStore as DataStore
    from engine.data import DataSummary as DataSummary
    from engine.data import Properties as Properties
    from engine.deciders import Attempt as Attempt
    from engine.deciders import Decider as Decider
    from engine.deciders import Decision as Decision
    from engine.deciders import Desk as Desk
    from engine.deciders import Question as Question
    from engine.deciders.person import PersonDecider as PersonDecider
    from engine.deciders.scripted import ScriptedDecider as ScriptedDecider
    from engine.deciders.systemone.client import DecisionClient as DecisionClient
    from engine.deciders.systemone.client import DecisionError as DecisionError
    from engine.deciders.systemone.client import DecisionFailed as DecisionFailed
    from engine.deciders.systemone.client import DecisionRequest as DecisionRequest
    from engine.deciders.systemone.client import DecisionResult as DecisionResult
    from engine.deciders.systemone.client import Image as Image
    from engine.deciders.systemone.client import ModelInfo as ModelInfo
    from engine.deciders.systemone.client import RetryPolicy as RetryPolicy
    from engine.deciders.systemone.client import cached as cached
    from engine.deciders.systemone.client import retried as retried
    from engine.deciders.systemone.decider import DecisionModelDecider as DecisionModelDecider
    from engine.deciders.systemone.endpoint import PROFILES as PROFILES
    from engine.deciders.systemone.endpoint import SystemOneClient as SystemOneClient
    from engine.deciders.systemone.endpoint import SystemOneSettings as SystemOneSettings
    from engine.deciders.systemone.questions import Choice as Choice
    from engine.deciders.systemone.questions import Chosen as Chosen
    from engine.deciders.systemone.questions import Noul as Noul
    from engine.deciders.systemone.questions import QuestionSet as QuestionSet
    from engine.deciders.systemone.questions import Score as Score
    from engine.deciders.systemone.rules import ConfidenceTiers as ConfidenceTiers
    from engine.deciders.systemone.rules import QuestionLimits as QuestionLimits
    from engine.deciders.systemone.rules import check_questions as check_questions
    from engine.deciders.text import TextDecider as TextDecider
    from engine.errors import CaseError as CaseError
    from engine.errors import CatalogError as CatalogError
    from engine.errors import DocumentRefused as DocumentRefused
    from engine.errors import LlmError as LlmError
    from engine.errors import Problem as Problem
    from engine.errors import ProjectError as ProjectError
    from engine.errors import RecorderClosed as RecorderClosed
    from engine.errors import RecordingFailed as RecordingFailed
    from engine.errors import Severity as Severity
    from engine.errors import TreeInvalid as TreeInvalid
    from engine.errors import TreewrightError as TreewrightError
    from engine.events import ActionCompleted as ActionCompleted
    from engine.events import AttemptCompleted as AttemptCompleted
    from engine.events import BudgetPassed as BudgetPassed
    from engine.events import Classification as Classification
    from engine.events import ClassificationCompleted as ClassificationCompleted
    from engine.events import Event as Event
    from engine.events import FailureKind as FailureKind
    from engine.events import NodeStarted as NodeStarted
    from engine.events import NodeVisited as NodeVisited
    from engine.events import Observer as Observer
    from engine.events import Outcome as Outcome
    from engine.events import RunEnded as RunEnded
    from engine.events import RunResult as RunResult
    from engine.events import RunStarted as RunStarted
    from engine.events import SubRunEvent as SubRunEvent
    from engine.events import Visit as Visit
    from engine.events.codec import event_of as event_of
    from engine.events.codec import json_of as json_of
    from engine.events.journal import Bus as Bus
    from engine.events.journal import Journal as Journal
    from engine.events.journal import JournalEntry as JournalEntry
    from engine.events.journal import MemoryJournal as MemoryJournal
    from engine.events.journal import Publisher as Publisher
    from engine.export import anchors_of as anchors_of
    from engine.export import difference_lines as difference_lines
    from engine.export import difference_page as difference_page
    from engine.export import dot_of as dot_of
    from engine.export import mermaid_of as mermaid_of
    from engine.export import report_of as report_of
    from engine.export import summary_of as summary_of
    from engine.expressions import Expression as Expression
    from engine.expressions import ExpressionError as ExpressionError
    from engine.expressions import Undefined as Undefined
    from engine.jsontext import document_bytes as document_bytes
    from engine.kinds import KINDS as KINDS
    from engine.kinds import misfits as misfits
    from engine.llm import Completion as Completion
    from engine.llm import LlmClient as LlmClient
    from engine.llm import Message as Message
    from engine.llm import Request as Request
    from engine.llm.anthropic import AnthropicClient as AnthropicClient
    from engine.llm.failover import Call as Call
    from engine.llm.failover import ChainPipeline as ChainPipeline
    from engine.llm.failover import Failover as Failover
    from engine.llm.failover import ModelChain as ModelChain
    from engine.llm.failover import Pipeline as Pipeline
    from engine.llm.openai import OpenAiClient as OpenAiClient
    from engine.predicates import standard_catalog as standard_catalog
    from engine.project import Project as Project
    from engine.project import load_project as load_project
    from engine.run import Caller as Caller
    from engine.run import Inputs as Inputs
    from engine.run import Phase as Phase
    from engine.run import Pins as Pins
    from engine.run import Run as Run
    from engine.run import SteppedAction as SteppedAction
    from engine.run import Stop as Stop
    from engine.run import SubRun as SubRun
    from engine.session import Session as Session
    from engine.trail import Trail as Trail
    from engine.trail import trail_of as trail_of
    from engine.trail.graph import ExecutionGraph as ExecutionGraph
    from engine.trail.graph import GraphEdge as GraphEdge
    from engine.trail.graph import GraphNode as GraphNode
    from engine.trail.graph import execution_graph as execution_graph
    from engine.transcript import REDACTED as REDACTED
    from engine.transcript import Builder as Builder
    from engine.transcript import FileSink as FileSink
    from engine.transcript import MarkdownBuilder as MarkdownBuilder
    from engine.transcript import Redactor as Redactor
    from engine.transcript import TranscriptDecorator as TranscriptDecorator
    from engine.transcript import TranscriptInfo as TranscriptInfo
    from engine.transcript import TranscriptOptions as TranscriptOptions
    from engine.transcript import TranscriptPolicy as TranscriptPolicy
    from engine.transcript import TranscriptSink as TranscriptSink
    from engine.transcript import is_transcript as is_transcript
    from engine.transcript import list_transcripts as list_transcripts
    from engine.transcript import shipped_redactor as shipped_redactor
    from engine.tree import NODE_TYPES as NODE_TYPES
    from engine.tree import UNKNOWN as UNKNOWN
    from engine.tree import ActionNode as ActionNode
    from engine.tree import AnyNode as AnyNode
    from engine.tree import Budget as Budget
    from engine.tree import ClassifyNode as ClassifyNode
    from engine.tree import ConditionNode as ConditionNode
    from engine.tree import Json as Json
    from engine.tree import Node as Node
    from engine.tree import NodeId as NodeId
    from engine.tree import OpaqueNode as OpaqueNode
    from engine.tree import TerminalNode as TerminalNode
    from engine.tree import TimeSpan as TimeSpan
    from engine.tree import Transition as Transition
    from engine.tree import Tree as Tree
    from engine.tree import placeholders as placeholders
    from engine.treefile import Reading as Reading
    from engine.treefile import read_tree as read_tree
    from engine.treefile import tree_hash as tree_hash
    from engine.treefile import write_tree as write_tree

_HOMES: Final = {
    "actions": "catalog_of coded_catalog_of troubles_of",
    "analysis": "bounds",
    "asking": "AskedModel DeciderName DeciderRefused DeciderSettings model_of settings_of",
    "budget": "Clock DEFAULT_LIMITS LimitName Limits SystemClock Usage",
    "catalog": "Action ActionContext ActionResult ActionStatus Catalog FunctionAction FunctionPredicate "
    "Inquiry Person Predicate PredicateContext action predicate",
    "checks": "Checker Runnable check problems_of runnable",
    "checks.fixing": "FIXABLE Fix fix fixes",
    "conversation": "ContextBuilder Conversation Prepared SlidingConversation build_context estimate_tokens",
    "data": "BoundedDataPolicy DataItem DataPolicy DataSnapshot DataStore DataSummary Properties",
    "deciders": "Attempt Decider Decision Desk Question",
    "deciders.person": "PersonDecider",
    "deciders.scripted": "ScriptedDecider",
    "deciders.systemone.client": "DecisionClient DecisionError DecisionFailed DecisionRequest DecisionResult "
    "Image ModelInfo RetryPolicy cached retried",
    "deciders.systemone.decider": "DecisionModelDecider",
    "deciders.systemone.endpoint": "PROFILES SystemOneClient SystemOneSettings",
    "deciders.systemone.questions": "Choice Chosen Noul QuestionSet Score",
    "deciders.systemone.rules": "ConfidenceTiers QuestionLimits check_questions",
    "deciders.text": "TextDecider",
    "errors": "CaseError CatalogError DocumentRefused LlmError Problem ProjectError RecorderClosed "
    "RecordingFailed Severity TreeInvalid "
    "TreewrightError",
    "events": "ActionCompleted AttemptCompleted BudgetPassed Classification ClassificationCompleted Event "
    "FailureKind NodeStarted NodeVisited Observer Outcome RunEnded RunResult RunStarted SubRunEvent "
    "Visit",
    "events.codec": "event_of json_of",
    "events.journal": "Bus Journal JournalEntry MemoryJournal Publisher",
    "export": "anchors_of difference_lines difference_page dot_of mermaid_of report_of summary_of",
    "expressions": "Expression ExpressionError Undefined",
    "jsontext": "document_bytes",
    "kinds": "KINDS misfits",
    "llm": "Completion LlmClient Message Request",
    "llm.anthropic": "AnthropicClient",
    "llm.failover": "Call ChainPipeline Failover ModelChain Pipeline",
    "llm.openai": "OpenAiClient",
    "predicates": "standard_catalog",
    "project": "Project load_project",
    "run": "Caller Inputs Phase Pins Run SteppedAction Stop SubRun",
    "session": "Session",
    "trail": "Trail trail_of",
    "trail.graph": "ExecutionGraph GraphEdge GraphNode execution_graph",
    "transcript": "Builder FileSink MarkdownBuilder REDACTED Redactor TranscriptDecorator TranscriptInfo "
    "TranscriptOptions TranscriptPolicy TranscriptSink is_transcript list_transcripts shipped_redactor",
    "tree": "ActionNode AnyNode Budget ClassifyNode ConditionNode Json NODE_TYPES Node NodeId OpaqueNode "
    "TerminalNode TimeSpan Transition Tree UNKNOWN placeholders",
    "treefile": "Reading read_tree tree_hash write_tree",
}
_HOME_OF: Final = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = sorted(_HOME_OF)  # noqa: PLE0605  (the table above is the list)


def __getattr__(name: str) -> object:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'engine' has no attribute {name!r}")
    value: object = getattr(import_module(f"engine.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
