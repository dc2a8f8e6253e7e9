"""What makes a tab of the page known to the server, though a cookie goes to every port of the machine.

A tab is let in with a secret of its own, made from the server's token, so that it outlives the server. It stays in the
tab. Whoever answers at the address must first prove to know it; then the tab makes a key from it, which is good for one
start of the server, and sends that along with every request.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets

_NAME = re.compile(r"[\w-]{16,64}", re.ASCII)


def sign(secret: str, *words: str) -> str:
    """Return what only someone who knows the secret can say of these words. The page has the same function."""
    return hmac.new(secret.encode(), "\n".join(words).encode(), hashlib.sha256).hexdigest()


class TabKeys:
    """Of one start of the server."""

    def __init__(self, token: str, port: int) -> None:
        self._token = token
        self._port = str(port)
        self._start = secrets.token_urlsafe(32)

    def issue(self) -> str:
        """Return a name and a secret for a new tab, as it gets them in its address."""
        name = secrets.token_urlsafe(16)
        return f"{name}.{self._secret(name)}"

    def proof(self, name: str, nonce: str) -> dict[str, str] | None:
        """Return what shows a tab that this is the server that let it in; None if it asks for nothing sensible."""
        if not (_NAME.fullmatch(name) and _NAME.fullmatch(nonce)):
            return None
        # With the port: what another server passes on from here proves nothing about that one.
        return {"start": self._start, "proof": sign(self._secret(name), "server", self._port, nonce, self._start)}

    def is_valid(self, name: str, key: str) -> bool:
        return is_same(key, self._key(name))

    def is_signed(self, name: str, path: str, signature: str) -> bool:
        """Return whether a tab made the link to this path, which is opened in another tab."""
        return is_same(signature, sign(self._key(name), path))

    def _secret(self, name: str) -> str:
        return sign(self._token, "tab", name)

    def _key(self, name: str) -> str:
        return sign(self._secret(name), "key", self._start)


def is_same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(errors="replace"), other.encode())
