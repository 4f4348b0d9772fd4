"""Coroutines started from the window: kept, heard when they fail, and ended before the window goes."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from threading import Thread
from typing import Final, TypeVar

_Result = TypeVar("_Result")

_LOOK: Final = 0.01
"""Seconds between two looks at work that is done aside."""

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


def is_running() -> bool:
    """Whether coroutines can be launched: timers of Qt may turn before the loop does, and after it."""
    with suppress(RuntimeError):
        return asyncio.get_running_loop().is_running()
    return False


async def aside(work: Callable[[], _Result]) -> _Result:
    """What comes of work that may take long, done in a thread that nobody waits for when the window goes.

    A thread of the loop's own pool would be waited for: the loop closes only after its last one has ended.
    """
    ended: Future[_Result] = Future()

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - whatever it is, who waits shall hear it
            ended.set_exception(error)
        else:
            ended.set_result(result)

    Thread(target=run, name="aside", daemon=True).start()
    # The loop looks for itself: a thread that outlives it must not be the one to wake it.
    while not ended.done():  # noqa: ASYNC110
        await asyncio.sleep(_LOOK)
    return ended.result()


async def cancel_all() -> None:
    """Cancel everything launched, apart from the caller, and wait until it has ended."""
    others = _tasks - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
