"""Keys and tokens in text from outside: found by shape, by the name before them, or as a secret of this environment.

What goes into logs and kept files passes through `redacted`; what a model reads from a file does not, since it would
write the gap back. Every pattern takes time in proportion to the text, whatever the text is.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import regex  # possessive groups go wrong in the first versions of Python 3.11

from headway.core.secret_marks import BEGINNINGS, NAMES, SHORTEST, contains_any

HIDDEN = "[redacted]"
_SECRET_NAME = regex.compile(
    r"""(?ix)
      (?:api_?key|token|secrets?|passwd|password|passphrase) (?:$|[_\d])
    | (?:^|_) (?:key|pass|credentials?|jwt) (?:$|[_\d])
    | _(?:pwd|auth|dsn) $
    | connection_?string
    """
)
_PASSES = 4
"""What is hidden may uncover what stood right beside it."""
_IN_URL = regex.compile(r"(://[^\s/:@\"']{0,100}:)([^\s/@\"']{1,1000})@")
_SHAPES = regex.compile(
    r"""
      (?:(?<![\w-])|(?<=\\[nrt]))(?:
        sk-(?=[A-Za-z_-]*+[0-9])[A-Za-z0-9_-]{16,}          # OpenAI, Anthropic and others
      | (?:gh[pousr]|hf|npm|gsk)_[A-Za-z0-9]{20,}
      | github_pat_[A-Za-z0-9_]{20,}
      | (?:glpat|xai|tvly)-[A-Za-z0-9_-]{20,}
      | (?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}            # Stripe
      | pypi-[A-Za-z0-9_-]{50,}
      | AIza[A-Za-z0-9_-]{30,}                              # Google
      | ya29\.[A-Za-z0-9_-]{20,}
      | xox[abeoprs]-[A-Za-z0-9-]{10,}                      # Slack
      | (?:AKIA|ASIA)[A-Z0-9]{16}(?!\w)                     # AWS
      | eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+   # JSON Web Token
      )
    | -----BEGIN\ [A-Z ]{0,40}PRIVATE\ KEY(?:\ BLOCK)?-----
      (?: (?:[^-]|-(?!----)){0,20000}+ -----END\ [A-Z ]{0,40}PRIVATE\ KEY(?:\ BLOCK)?-----[\w-]*+
        | (?: (?:\s|\\[nr]){0,4}+ [A-Za-z0-9+/=]{40,}+ )++ (?: (?:\s|\\[nr]){1,4}+ [A-Za-z0-9+/=]++ )? )
    """,
    regex.VERBOSE,
)
_NAMED = regex.compile(
    r"""(?aix)
    ( (?P<name> (?:api|access|secret|private|signing|encryption|account)[_-]?key | token | secret | passw(?:or)?d
        | passphrase | [_-]pass ) \\?["']?\s{0,3}[:=]{1,2}\s{0,3}
    | (?<![\w-])--[a-z-]{0,30}(?:api-key|token|secret|password)\s{1,3}
    | \bauthorization\\?["']?\s{0,3}[:=]\s{0,3}\\?["']?(?:bearer|basic|token)\s{1,3}
    | \bbearer\s{1,3} )
    (?: (?P<quote>\\?["']) (?P<literal>[^\s"'\\]{6,}+)(?=\\?["']) | (?P<bare>[^\s"'\\@;,&()]{6,}+) )
    """
)
_CODE = regex.compile(r"[A-Za-z_]\w*+(?:\.\w++|\[\w*+\])++")
_WORDS = regex.compile(r"[a-z]+(?:[._/-][a-z]+)*|[A-Z]+(?:_[A-Z]+)*|[A-Z]?[a-z]+(?:[A-Z][a-z]+)*")
_PLACEHOLDER = ("$", "<", "{", "[", "*", "%", "…", "...")


def is_secret_name(name: str) -> bool:
    """Return whether an environment variable of this name is likely to hold a secret."""
    return _SECRET_NAME.search(name) is not None


def redact(text: str, environ: Mapping[str, str] | None = None) -> str:
    """Return the text without what looks like a key, a token or a password."""
    return Redactor(environ)(text)


class Redactor:
    """`redacted` for many texts: what is secret in the environment is found out once."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._values = _list_secret_values(os.environ if environ is None else environ)

    def __call__(self, text: str) -> str:
        return _hide_values(self._values, text)


def _hide_values(values: tuple[str, ...], text: str) -> str:
    for _ in range(_PASSES):
        before, text = text, _redact(text, values)
        if text == before:
            break
    return text


def _redact(text: str, values: tuple[str, ...]) -> str:
    for value in values:
        text = text.replace(value, HIDDEN)
    if contains_any(text, BEGINNINGS):
        text = _SHAPES.sub(HIDDEN, text)
    if "://" in text:
        text = _IN_URL.sub(lambda found: f"{found[1]}{HIDDEN}@", text)
    return _NAMED.sub(_hide_match, text) if contains_any(text.lower(), NAMES) else text


def _list_secret_values(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Longest first, so that one that contains another is hidden whole."""
    found = {value for name, value in environ.items() if is_secret_name(name)}
    found |= {match[2] for value in environ.values() if (match := _IN_URL.search(value))}
    usual = {value for value in found if len(value) >= SHORTEST and value not in HIDDEN and not os.path.isabs(value)}
    return tuple(sorted(usual, key=lambda value: (-len(value), value)))


def _hide_match(found: regex.Match[str]) -> str:
    quote, bare = found["quote"] or "", found["bare"]
    if bare is not None and (found.string[found.end() : found.end() + 1] == "(" or _is_code(bare)):
        return found[0]
    if not _looks_secret(found["literal"] or bare or "", found["name"] or "", quoted=bare is None):
        return found[0]
    return f"{found[1]}{quote}{HIDDEN}"


def _is_code(value: str) -> bool:
    """`settings.token`, `tokens[0].text`: letters of one case with digits, which random tokens hardly are."""
    plain = value.islower() or value.isupper() or not any(char.isdigit() for char in value)
    return plain and _CODE.fullmatch(value) is not None


def _looks_secret(value: str, name: str, *, quoted: bool) -> bool:
    """Not a word of a language or a gap to be filled in: letters mixed with digits, or long."""
    if value.startswith(_PLACEHOLDER):
        return False
    if value.isdecimal():
        return name.lower().startswith("passw")
    if any(char.isdigit() for char in value):
        return True
    return len(value) >= 20 and (quoted or _WORDS.fullmatch(value) is None)
