"""What a visitor gets from a handler of the page, without the page."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def updates_of(events: AsyncIterator[Any] | Iterator[Any]) -> list[Any]:
    """Return all the updates that a handler yields, be it asynchronous or not."""

    async def collected() -> list[Any]:
        assert isinstance(events, AsyncIterator)
        return [update async for update in events]

    return finished(collected()) if isinstance(events, AsyncIterator) else list(events)


def finished(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, in a thread of its own: the browser's driver keeps a loop going in this one."""
    with ThreadPoolExecutor(1) as one:
        return one.submit(asyncio.run, work).result()
