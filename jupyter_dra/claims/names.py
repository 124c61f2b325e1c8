"""Names of sessions, pods and label values."""

from __future__ import annotations

import hashlib
import re

from ..errors import NameRuleError

#: Characters Kubernetes uses for generated suffixes: no vowels, nothing that looks alike.
SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
SUFFIX_LENGTH = 5
SLUG_LENGTH = 30
_HASH_LENGTH = 16  # nobody finds another name with the hash of a given one


def slug(text: str, max_length: int = SLUG_LENGTH) -> str:
    """The part of *text* that may stand in a DNS label: lower-case letters, digits, inner dashes; "session" if none.

    >>> slug("BERT train (v2).ipynb")
    'bert-train-v2-ipynb'
    """
    safe = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:max_length].strip("-")
    return safe or "session"


def hashed_slug(text: str, max_length: int = 63) -> str:
    """A label value that names exactly one original: a readable part and a hash of the exact text.

    Two different originals never share it (Unicode twins, case, cut tails), see the threat model, T27.

    >>> hashed_slug("ada") != hashed_slug("Ada")
    True
    """
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_LENGTH]
    return f"{slug(text, max_length - _HASH_LENGTH - 1)}-{digest}"


def session_id(name: str, suffix: str) -> str:
    """``<slug of name>-<suffix>``: the claim's name, the session's label value and the prefix of its pods.

    *suffix* comes from the caller: five characters of `SUFFIX_ALPHABET`.

    >>> session_id("BERT train", "9d4fk")
    'bert-train-9d4fk'
    """
    if len(suffix) != SUFFIX_LENGTH or not set(suffix) <= set(SUFFIX_ALPHABET):
        raise NameRuleError(
            f"A session suffix is {SUFFIX_LENGTH} characters of {SUFFIX_ALPHABET}, not {suffix!r}."
        )
    return f"{slug(name)}-{suffix}"


def pod_name(session: str, index: int) -> str:
    """Name of a session's *index*-th kernel pod.

    >>> pod_name("bert-train-9d4fk", 0)
    'bert-train-9d4fk-0'
    """
    return f"{session}-{index}"
