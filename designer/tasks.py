"""Coroutines started from the window: kept, heard when they fail, and ended before the window goes."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Final, TypeVar

_Result = TypeVar("_Result")

_tasks: Final[set[asyncio.Task[object]]] = set()


def launch(
    coroutine: Coroutine[object, object, _Result], on_error: Callable[[Exception], object] | None = None
) -> asyncio.Task[_Result]:
    """Start a coroutine on the running loop, and keep its task: asyncio itself holds it only weakly.

    A failure goes to ``on_error``, else to the loop's exception handler. Being cancelled is no failure.
    """
    loop = asyncio.get_event_loop()
    task = loop.create_task(coroutine)

    def ended(task: asyncio.Task[_Result]) -> None:
        _tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Exception) and on_error is not None:
            on_error(error)
        elif error is not None:
            loop.call_exception_handler({"message": "A background task failed.", "exception": error})

    _tasks.add(task)
    task.add_done_callback(ended)
    return task


async def cancel_all() -> None:
    """Cancel everything launched, apart from the caller, and wait until it has ended."""
    others = _tasks - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
