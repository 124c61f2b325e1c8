"""The one writer of HTML in the hub: elements with escaped attributes, foreign text as text."""

from __future__ import annotations

from html import escape
from typing import Any

_VOID = frozenset({"input", "br"})


def element(tag: str, *children: str, **attributes: Any) -> str:
    """One element.

    Args:
        children: markup made by this function or by `text`, nothing else.
        attributes: their values are escaped; None and False leave one out, True writes it bare. A trailing underscore
            of a name is dropped, other underscores become dashes.

    >>> element("b", text("<x>"), title='"')
    '<b title="&quot;">&lt;x&gt;</b>'
    """
    shown = "".join(
        f" {_name(name)}" if value is True else f' {_name(name)}="{text(value)}"'
        for name, value in attributes.items()
        if value is not None and value is not False
    )
    return f"<{tag}{shown}>" if tag in _VOID else f"<{tag}{shown}>{''.join(children)}</{tag}>"


def text(value: object) -> str:
    """Foreign text as text; braces too, since hubs have rendered forms as templates."""
    return escape(str(value), quote=True).replace("{", "&#123;").replace("}", "&#125;")


def _name(name: str) -> str:
    return name.rstrip("_").replace("_", "-")
