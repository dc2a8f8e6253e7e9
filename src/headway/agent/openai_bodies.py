"""Long histories through OpenAI's library: sent as they are, not walked through piece by piece first.

The library looks at every part of every message for names to translate, and finds none in what pydantic-ai made. That
takes most of a second for 2,000 messages. What comes in `extra_body` it takes as it is; the bytes sent are the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from openai import AsyncOpenAI
from openai.resources.chat import AsyncChat
from openai.resources.chat.completions import AsyncCompletions
from openai.resources.responses import AsyncResponses


class _Completions(AsyncCompletions):
    async def create(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, *, messages: Any, extra_body: Mapping[str, object] | None = None, **rest: Any
    ) -> Any:
        create: Any = super().create
        return await create(messages=[], extra_body={**(extra_body or {}), "messages": messages}, **rest)


class _Chat(AsyncChat):
    def __init__(self, client: AsyncOpenAI) -> None:
        super().__init__(client)
        self.completions = _Completions(client)  # pyright: ignore[reportAttributeAccessIssue]


class _Responses(AsyncResponses):
    async def create(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, *, input: Any = None, extra_body: Mapping[str, object] | None = None, **rest: Any
    ) -> Any:
        create: Any = super().create
        if not isinstance(input, list):
            return await create(input=input, extra_body=extra_body, **rest)
        return await create(input=[], extra_body={**(extra_body or {}), "input": cast("object", input)}, **rest)


def skip_message_walk(client: AsyncOpenAI) -> None:
    """Has this client take messages for what they are."""
    client.chat = _Chat(client)  # pyright: ignore[reportAttributeAccessIssue]
    client.responses = _Responses(client)  # pyright: ignore[reportAttributeAccessIssue]
