"""What fits: the model's context window minus room for the reply, in tokens that are calibrated by what it reports."""

from __future__ import annotations

_FIRST_GUESS = 0.3
"""Tokens for a byte of text before the provider has reported any: on the safe side for English, about right for
Chinese."""

_REPLY = 8_000
"""Tokens for which room is kept where nobody said how long an answer may be."""


class Budget:
    def __init__(self, window: int | None, reply: int | None, *, is_assumed: bool = False) -> None:
        """`window` is None where nothing is known: then only the provider can say that something is too long. `reply`
        is how long an answer may be, where that is set. `is_assumed`: the window may be larger."""
        self.window = window
        self.is_assumed = is_assumed
        self.reply = 0
        """Room that is kept for the answer."""
        self.keep_room_for(_REPLY if reply is None else reply)
        self._per_byte = _FIRST_GUESS

    def keep_room_for(self, reply: int) -> None:
        """Allow an answer so many tokens from now on."""
        self.reply = reply if self.window is None else min(reply, self.window // 4)

    def calibrate(self, size: int, tokens: int) -> None:
        """Note how many tokens the provider counted for a request of this size."""
        if size > 0 and tokens > 0:
            self._per_byte = tokens / size

    def estimate_tokens(self, size: int) -> int:
        return round(size * self._per_byte)

    def fits(self, size: int) -> bool:
        return self.window is None or self.estimate_tokens(size) + self.reply <= self.window

    def history_room(self, besides: int) -> int:
        """Return how many bytes the history may have when `besides` goes along with it."""
        if self.window is None:
            return 0
        return max(round((self.window - self.reply) / self._per_byte) - besides, 0)

    @property
    def block_room(self) -> int:
        """Bytes that the list may take of a request: all it needs in most, a tenth of a small window."""
        return 100_000 if self.window is None else max(round(self.window / self._per_byte / 10), 1_000)

    def note_refused(self, size: int) -> None:
        """Note that a request of this size does not fit, as the provider said."""
        tokens = self.estimate_tokens(size)
        self.window = max(min(self.window or tokens, tokens) * 3 // 4, 1)
        self.is_assumed = False
        self.reply = min(self.reply, self.window // 4)
