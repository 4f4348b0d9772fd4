"""Coroutines started from the window: kept, heard when they fail, ended together."""

import asyncio
import gc
import threading

import pytest

from designer.tasks import aside, cancel_all, launch


def test_a_launched_coroutine_is_kept_until_it_ends(aloop):
    done = []

    async def work():
        await asyncio.sleep(0)
        gc.collect()
        await asyncio.sleep(0)
        done.append(True)

    async def main():
        task = launch(work())
        await task

    aloop.run_until_complete(main())
    assert done == [True]


def test_a_failure_goes_to_who_asked_for_it(aloop):
    heard: list[Exception] = []

    async def fail():
        raise ValueError("no")

    async def main():
        launch(fail(), heard.append)
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    aloop.run_until_complete(main())
    assert [str(error) for error in heard] == ["no"]


def test_a_failure_nobody_asked_for_goes_to_the_loop(aloop):
    heard: list[Exception] = []

    async def fail():
        raise ValueError("no")

    async def main():
        launch(fail())
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    aloop.set_exception_handler(lambda _, context: heard.append(context["exception"]))
    try:
        aloop.run_until_complete(main())
    finally:
        aloop.set_exception_handler(None)
    assert [str(error) for error in heard] == ["no"]


def test_being_cancelled_is_no_failure(aloop):
    heard: list[Exception] = []

    async def main():
        task = launch(asyncio.sleep(60), heard.append)
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        return task.cancelled()

    assert aloop.run_until_complete(main())
    assert heard == []


def test_everything_launched_ends_together_and_the_caller_goes_on(aloop):
    ended = []

    async def work():
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(True)

    async def shut_down():
        await cancel_all()
        return "still here"

    async def main():
        launch(work())
        launch(work())
        await asyncio.sleep(0)
        return await launch(shut_down())

    assert aloop.run_until_complete(main()) == "still here"
    assert ended == [True, True]


def test_a_stream_that_is_left_early_is_closed(aloop):
    closed = []

    async def numbers():
        try:
            while True:
                yield 1
        finally:
            closed.append(True)

    async def main():
        async for _ in numbers():
            break
        gc.collect()
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    aloop.run_until_complete(main())
    assert closed == [True]


def test_work_aside_gives_its_result_or_its_failure_from_another_thread(aloop):
    async def main():
        assert await aside(threading.get_ident) != threading.get_ident()
        with pytest.raises(ZeroDivisionError):
            await aside(lambda: 1 // 0)

    aloop.run_until_complete(main())


def test_nobody_waits_for_work_aside_that_is_not_wanted_any_more(aloop):
    release, ended = threading.Event(), threading.Event()

    def work():
        release.wait()
        ended.set()

    async def main():
        task = launch(aside(work))
        await asyncio.sleep(0)
        await cancel_all()
        assert task.cancelled()
        assert not ended.is_set()
        release.set()

    aloop.run_until_complete(main())
    assert ended.wait(10)
