"""What a visitor gets from a handler of the page, without the page."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any


def updates_of(events: AsyncIterator[Any] | Iterator[Any]) -> list[Any]:
    """Return all the updates that a handler yields, be it asynchronous or not."""

    async def collected() -> list[Any]:
        assert isinstance(events, AsyncIterator)
        return [update async for update in events]

    return asyncio.run(collected()) if isinstance(events, AsyncIterator) else list(events)
