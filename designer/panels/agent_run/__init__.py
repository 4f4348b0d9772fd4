"""What the agents inside the actions of a run did, turn by turn."""

from designer.panels.agent_run.panel import AgentRunPanel

__all__ = ["AgentRunPanel"]
