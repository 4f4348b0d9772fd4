"""The transcripts: what runs wrote, listed, searched and shown so that nothing in them can do harm."""

from designer.panels.transcripts.panel import TranscriptsPanel

__all__ = ["TranscriptsPanel"]
