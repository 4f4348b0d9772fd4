"""Transcripts: one readable document a run, safe to keep, with builders and sinks of one's own."""

from engine.transcript.agents import AgentTranscript
from engine.transcript.builder import (
    AgentBuilder,
    Builder,
    MarkdownAgentBuilder,
    MarkdownBuilder,
    TranscriptDecorator,
)
from engine.transcript.composer import TranscriptPolicy
from engine.transcript.redaction import REDACTED, Redactor, shipped_redactor
from engine.transcript.shelf import TranscriptInfo, is_transcript, list_transcripts
from engine.transcript.sinks import FileSink, TranscriptSink
from engine.transcript.transcript import RunTranscript, TranscriptOptions, TranscriptStatus, open_transcript

__all__ = [
    "REDACTED",
    "AgentBuilder",
    "AgentTranscript",
    "Builder",
    "FileSink",
    "MarkdownAgentBuilder",
    "MarkdownBuilder",
    "Redactor",
    "RunTranscript",
    "TranscriptDecorator",
    "TranscriptInfo",
    "TranscriptOptions",
    "TranscriptPolicy",
    "TranscriptSink",
    "TranscriptStatus",
    "is_transcript",
    "list_transcripts",
    "open_transcript",
    "shipped_redactor",
]
