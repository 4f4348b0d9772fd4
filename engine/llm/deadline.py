"""A client that must answer in time, whatever it does of its own about waiting."""

import asyncio

from engine.errors import LlmError
from engine.llm import Completion, LlmClient, Request


class TimedClient:
    """Another client that has ``seconds`` for each completion; then the call has failed for the moment."""

    def __init__(self, client: LlmClient, seconds: float) -> None:
        self._client, self._seconds = client, seconds
        self.provider, self.endpoint, self.model = client.provider, client.endpoint, client.model

    async def complete(self, request: Request) -> Completion:
        """Ask once; ``LlmError`` of kind ``timeout`` when there is no completion in time."""
        try:
            async with asyncio.timeout(self._seconds) as deadline:
                return await self._client.complete(request)
        except TimeoutError as error:
            if not deadline.expired():
                raise
            message = f"The model gave no completion within {self._seconds:g} s."
            raise LlmError(message, kind="timeout", transient=True) from error

    async def close(self) -> None:
        await self._client.close()
