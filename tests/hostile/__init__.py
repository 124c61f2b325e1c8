"""Texts that strangers may put where they can, for every test that shows, logs, generates or compares text."""

from __future__ import annotations

TEXTS = (
    "<img src=x onerror=alert(1)>",
    "</script><script>canary()</script>",
    '"><svg/onload=canary()>',
    "javascript:canary()",
    "\x1b[2J\x1b]52;c;Y2FuYXJ5\x07",
    "line\r\nWARNING forged=record",
    "pay\u202egnp.exe",
    "zero\u200bwidth\u2066",
    "soft\u00adhyphen\u180e\ufff9\U000e0041\ue000",
    "it's; touch canary #",
    '$(touch canary) `touch canary` "$HOME"',
    'x" || true || "',
    "' or '1'=='1",
    "{x.__class__} {0} {{y}} %s %(a)s",
    "a: b\n- c: &d [*d]\n---\nkind: Pod",
    "../../../etc/passwd",
    "x/../secrets?watch=1#",
    "\\\\server\\share",
    "-rf --help",
    "null",
    "y",
    "0o7",
    "é" * 300,
    "🙂" * 64,
)
"""Markup, terminal and direction controls, quotes of every language, templates, YAML, paths, options, lengths."""

CONTROLS = frozenset(
    [
        chr(code)
        for code in (
            *range(0x20),
            *range(0x7F, 0xA0),
            0xAD,
            0x180E,
            *range(0x200B, 0x2010),
            *range(0x2028, 0x202F),
            *range(0x2060, 0x2070),
            0xFFF9,
            0xE000,
            0xE0041,
        )
    ]
) - {"\n", "\t"}
"""What no line for people may hold as it is."""
