"""Treewright's engine: decision trees that are checked before they run and bounded while they run.

The names below are the front door; each is loaded when first used::

    from pathlib import Path

    from engine import Session, read_tree

    tree = read_tree(Path("tree.json").read_bytes()).tree
    result = await Session(decider=...).start(tree).finish()

Other fronts: :mod:`engine.records` and :mod:`engine.evaluate`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from engine.budget import (
        DEFAULT_LIMITS as DEFAULT_LIMITS,
    )
    from engine.budget import (
        Clock as Clock,
    )
    from engine.budget import (
        LimitName as LimitName,
    )
    from engine.budget import (
        Limits as Limits,
    )
    from engine.budget import (
        SystemClock as SystemClock,
    )
    from engine.budget import (
        Usage as Usage,
    )
    from engine.catalog import (
        Action as Action,
    )
    from engine.catalog import (
        ActionContext as ActionContext,
    )
    from engine.catalog import (
        ActionResult as ActionResult,
    )
    from engine.catalog import (
        ActionStatus as ActionStatus,
    )
    from engine.catalog import (
        Catalog as Catalog,
    )
    from engine.catalog import (
        Predicate as Predicate,
    )
    from engine.catalog import (
        PredicateContext as PredicateContext,
    )
    from engine.catalog import (
        action as action,
    )
    from engine.catalog import (
        predicate as predicate,
    )
    from engine.checks import (
        Checker as Checker,
    )
    from engine.checks import (
        Runnable as Runnable,
    )
    from engine.checks import (
        check as check,
    )
    from engine.checks import (
        runnable as runnable,
    )
    from engine.conversation import (
        ContextBuilder as ContextBuilder,
    )
    from engine.conversation import (
        Conversation as Conversation,
    )
    from engine.conversation import (
        Prepared as Prepared,
    )
    from engine.conversation import (
        SlidingConversation as SlidingConversation,
    )
    from engine.conversation import (
        build_context as build_context,
    )
    from engine.conversation import (
        estimate_tokens as estimate_tokens,
    )
    from engine.data import (
        BoundedDataPolicy as BoundedDataPolicy,
    )
    from engine.data import (
        DataItem as DataItem,
    )
    from engine.data import (
        DataPolicy as DataPolicy,
    )
    from engine.data import (
        DataSnapshot as DataSnapshot,
    )
    from engine.data import (
        DataStore as DataStore,
    )
    from engine.data import (
        Properties as Properties,
    )
    from engine.deciders import (
        Attempt as Attempt,
    )
    from engine.deciders import (
        Decider as Decider,
    )
    from engine.deciders import (
        Decision as Decision,
    )
    from engine.deciders import (
        Desk as Desk,
    )
    from engine.deciders import (
        Question as Question,
    )
    from engine.deciders.person import (
        PersonDecider as PersonDecider,
    )
    from engine.deciders.scripted import (
        ScriptedDecider as ScriptedDecider,
    )
    from engine.deciders.text import (
        TextDecider as TextDecider,
    )
    from engine.errors import (
        CaseError as CaseError,
    )
    from engine.errors import (
        CatalogError as CatalogError,
    )
    from engine.errors import (
        DocumentRefused as DocumentRefused,
    )
    from engine.errors import (
        LlmError as LlmError,
    )
    from engine.errors import (
        Problem as Problem,
    )
    from engine.errors import (
        ProjectError as ProjectError,
    )
    from engine.errors import (
        Severity as Severity,
    )
    from engine.errors import (
        TreeInvalid as TreeInvalid,
    )
    from engine.errors import (
        TreewrightError as TreewrightError,
    )
    from engine.events import (
        ActionCompleted as ActionCompleted,
    )
    from engine.events import (
        AttemptCompleted as AttemptCompleted,
    )
    from engine.events import (
        BudgetPassed as BudgetPassed,
    )
    from engine.events import (
        Classification as Classification,
    )
    from engine.events import (
        ClassificationCompleted as ClassificationCompleted,
    )
    from engine.events import (
        Event as Event,
    )
    from engine.events import (
        NodeStarted as NodeStarted,
    )
    from engine.events import (
        NodeVisited as NodeVisited,
    )
    from engine.events import (
        Observer as Observer,
    )
    from engine.events import (
        Outcome as Outcome,
    )
    from engine.events import (
        RunEnded as RunEnded,
    )
    from engine.events import (
        RunResult as RunResult,
    )
    from engine.events import (
        RunStarted as RunStarted,
    )
    from engine.events import (
        Visit as Visit,
    )
    from engine.llm import (
        Completion as Completion,
    )
    from engine.llm import (
        LlmClient as LlmClient,
    )
    from engine.llm import (
        Message as Message,
    )
    from engine.llm import (
        Request as Request,
    )
    from engine.llm.openai import (
        OpenAiClient as OpenAiClient,
    )
    from engine.predicates import (
        standard_catalog as standard_catalog,
    )
    from engine.project import (
        Project as Project,
    )
    from engine.project import (
        catalog_of as catalog_of,
    )
    from engine.project import (
        load_project as load_project,
    )
    from engine.run import (
        Inputs as Inputs,
    )
    from engine.run import (
        Phase as Phase,
    )
    from engine.run import (
        Pins as Pins,
    )
    from engine.run import (
        Run as Run,
    )
    from engine.run import (
        Stop as Stop,
    )
    from engine.session import (
        Session as Session,
    )
    from engine.trail import (
        Trail as Trail,
    )
    from engine.trail import (
        trail_of as trail_of,
    )
    from engine.transcript import (
        TranscriptOptions as TranscriptOptions,
    )
    from engine.tree import (
        NODE_TYPES as NODE_TYPES,
    )
    from engine.tree import (
        UNKNOWN as UNKNOWN,
    )
    from engine.tree import (
        ActionNode as ActionNode,
    )
    from engine.tree import (
        AnyNode as AnyNode,
    )
    from engine.tree import (
        Budget as Budget,
    )
    from engine.tree import (
        ClassifyNode as ClassifyNode,
    )
    from engine.tree import (
        ConditionNode as ConditionNode,
    )
    from engine.tree import (
        Json as Json,
    )
    from engine.tree import (
        Node as Node,
    )
    from engine.tree import (
        NodeId as NodeId,
    )
    from engine.tree import (
        OpaqueNode as OpaqueNode,
    )
    from engine.tree import (
        TerminalNode as TerminalNode,
    )
    from engine.tree import (
        TimeSpan as TimeSpan,
    )
    from engine.tree import (
        Transition as Transition,
    )
    from engine.tree import (
        Tree as Tree,
    )
    from engine.tree import (
        placeholders as placeholders,
    )
    from engine.treefile import (
        Reading as Reading,
    )
    from engine.treefile import (
        problems_of as problems_of,
    )
    from engine.treefile import (
        read_tree as read_tree,
    )
    from engine.treefile import (
        tree_hash as tree_hash,
    )
    from engine.treefile import (
        write_tree as write_tree,
    )

_HOMES: Final = {
    "Action": "catalog",
    "ActionCompleted": "events",
    "ActionContext": "catalog",
    "ActionNode": "tree",
    "ActionResult": "catalog",
    "ActionStatus": "catalog",
    "AnyNode": "tree",
    "Attempt": "deciders",
    "AttemptCompleted": "events",
    "BoundedDataPolicy": "data",
    "Budget": "tree",
    "BudgetPassed": "events",
    "CaseError": "errors",
    "Catalog": "catalog",
    "CatalogError": "errors",
    "Checker": "checks",
    "Classification": "events",
    "ClassificationCompleted": "events",
    "ClassifyNode": "tree",
    "Clock": "budget",
    "Completion": "llm",
    "ConditionNode": "tree",
    "ContextBuilder": "conversation",
    "Conversation": "conversation",
    "DEFAULT_LIMITS": "budget",
    "DataItem": "data",
    "DataPolicy": "data",
    "DataSnapshot": "data",
    "DataStore": "data",
    "Decider": "deciders",
    "Decision": "deciders",
    "Desk": "deciders",
    "DocumentRefused": "errors",
    "Event": "events",
    "Inputs": "run",
    "Json": "tree",
    "LimitName": "budget",
    "Limits": "budget",
    "LlmClient": "llm",
    "LlmError": "errors",
    "Message": "llm",
    "NODE_TYPES": "tree",
    "Node": "tree",
    "NodeId": "tree",
    "NodeStarted": "events",
    "NodeVisited": "events",
    "Observer": "events",
    "OpaqueNode": "tree",
    "OpenAiClient": "llm.openai",
    "Outcome": "events",
    "PersonDecider": "deciders.person",
    "Phase": "run",
    "Pins": "run",
    "Predicate": "catalog",
    "PredicateContext": "catalog",
    "Prepared": "conversation",
    "Problem": "errors",
    "Project": "project",
    "ProjectError": "errors",
    "Properties": "data",
    "Question": "deciders",
    "Reading": "treefile",
    "Request": "llm",
    "Run": "run",
    "RunEnded": "events",
    "RunResult": "events",
    "RunStarted": "events",
    "Runnable": "checks",
    "ScriptedDecider": "deciders.scripted",
    "Session": "session",
    "Severity": "errors",
    "SlidingConversation": "conversation",
    "Stop": "run",
    "SystemClock": "budget",
    "TerminalNode": "tree",
    "TextDecider": "deciders.text",
    "TimeSpan": "tree",
    "Trail": "trail",
    "TranscriptOptions": "transcript",
    "Transition": "tree",
    "Tree": "tree",
    "TreeInvalid": "errors",
    "TreewrightError": "errors",
    "UNKNOWN": "tree",
    "Usage": "budget",
    "Visit": "events",
    "action": "catalog",
    "build_context": "conversation",
    "catalog_of": "project",
    "check": "checks",
    "estimate_tokens": "conversation",
    "load_project": "project",
    "placeholders": "tree",
    "predicate": "catalog",
    "problems_of": "treefile",
    "read_tree": "treefile",
    "runnable": "checks",
    "standard_catalog": "predicates",
    "trail_of": "trail",
    "tree_hash": "treefile",
    "write_tree": "treefile",
}

__all__ = [
    "DEFAULT_LIMITS",
    "NODE_TYPES",
    "UNKNOWN",
    "Action",
    "ActionCompleted",
    "ActionContext",
    "ActionNode",
    "ActionResult",
    "ActionStatus",
    "AnyNode",
    "Attempt",
    "AttemptCompleted",
    "BoundedDataPolicy",
    "Budget",
    "BudgetPassed",
    "CaseError",
    "Catalog",
    "CatalogError",
    "Checker",
    "Classification",
    "ClassificationCompleted",
    "ClassifyNode",
    "Clock",
    "Completion",
    "ConditionNode",
    "ContextBuilder",
    "Conversation",
    "DataItem",
    "DataPolicy",
    "DataSnapshot",
    "DataStore",
    "Decider",
    "Decision",
    "Desk",
    "DocumentRefused",
    "Event",
    "Inputs",
    "Json",
    "LimitName",
    "Limits",
    "LlmClient",
    "LlmError",
    "Message",
    "Node",
    "NodeId",
    "NodeStarted",
    "NodeVisited",
    "Observer",
    "OpaqueNode",
    "OpenAiClient",
    "Outcome",
    "PersonDecider",
    "Phase",
    "Pins",
    "Predicate",
    "PredicateContext",
    "Prepared",
    "Problem",
    "Project",
    "ProjectError",
    "Properties",
    "Question",
    "Reading",
    "Request",
    "Run",
    "RunEnded",
    "RunResult",
    "RunStarted",
    "Runnable",
    "ScriptedDecider",
    "Session",
    "Severity",
    "SlidingConversation",
    "Stop",
    "SystemClock",
    "TerminalNode",
    "TextDecider",
    "TimeSpan",
    "Trail",
    "TranscriptOptions",
    "Transition",
    "Tree",
    "TreeInvalid",
    "TreewrightError",
    "Usage",
    "Visit",
    "action",
    "build_context",
    "catalog_of",
    "check",
    "estimate_tokens",
    "load_project",
    "placeholders",
    "predicate",
    "problems_of",
    "read_tree",
    "runnable",
    "standard_catalog",
    "trail_of",
    "tree_hash",
    "write_tree",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'engine' has no attribute {name!r}")
    value: object = getattr(import_module(f"engine.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
