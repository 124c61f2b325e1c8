"""A session as a person names it: by its id, or by its name as long as that is no other's too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import InputError

if TYPE_CHECKING:
    from .service import Sessions


async def session_id_of(sessions: Sessions, text: str) -> str:
    """The id of this user's session that ``text`` means: an id, or a name that one living session has.

    Where none lives under that name, the one that ended last under it; any other text is returned as it is, for
    the call that uses it to refuse.

    Raises:
        InputError: ``several-sessions``, more than one living session has the name.
    """
    records = await sessions.list(ended=True)  # newest first
    if any(one.id == text for one in records):
        return text
    named = [one for one in records if one.mine and one.name == text]
    living = [one.id for one in named if one.ended is None]
    if len(living) > 1:
        raise InputError(
            f"{len(living)} sessions are called {text}: {', '.join(living)}.",
            code="several-sessions",
            next_step="Name one of them by its id.",
            params={"ids": living},
        )
    return next(iter(living or [one.id for one in named]), text)
