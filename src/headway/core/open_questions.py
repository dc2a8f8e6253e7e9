"""The exact text of a question while it is open: kept beside the log, never in it, and with it the key to an answer.

The log has a question without keys and tokens, so whoever reads it there does not see what would run. Allowing it
takes the answer key, which comes with the exact text alone: an answer that was in the log before, or that something
inserts as the question is written, has none and counts for nothing. A no needs none.
"""

from __future__ import annotations

import json
import os

from headway.core.run_events import ApprovalAnswered, ApprovalAsked
from headway.core.value import to_fields

NO = "no"
"""The one reply that allows nothing."""


def new_key() -> str:
    return os.urandom(16).hex()


def hash_of(key: str) -> str:
    from hashlib import sha256  # only where somebody is asked

    return sha256(key.encode()).hexdigest()


def is_answer_to(asked: ApprovalAsked, answer: ApprovalAnswered) -> bool:
    """Return whether the answer counts: a no, or an allow by someone who was given the exact text."""
    if answer.reply == NO or asked.key_hash is None:  # older questions have no key
        return True
    return answer.key is not None and hash_of(answer.key) == asked.key_hash


def write_question(exact: ApprovalAsked, key: str) -> str:
    """Return what a store keeps; `exact` has the texts as they are."""
    return json.dumps({"key": key, "asked": to_fields(exact)})


def read_question(text: str) -> tuple[ApprovalAsked, str]:
    record = json.loads(text)
    return ApprovalAsked(**record["asked"]), record["key"]
