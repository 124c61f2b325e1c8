"""Errors as logs show them."""

from __future__ import annotations

import logging

import pytest

from jupyter_dra.errors import DRAError, one_line
from tests.hostile import CONTROLS, TEXTS


@pytest.mark.threat("T02")
@pytest.mark.parametrize("text", TEXTS)
def test_an_error_that_quotes_a_stranger_is_one_record_of_one_line(
    text: str, caplog: pytest.LogCaptureFixture
) -> None:
    error = DRAError(f"The cluster says: {text}")
    with caplog.at_level(logging.WARNING):
        logging.getLogger("jupyter_dra.test").warning("Not possible: %s", error)
    [record] = caplog.messages
    assert len(record.splitlines()) == 1
    assert not CONTROLS & set(record)
    assert error.message.endswith(text), "faces get the text as it is and escape it their own way"


def test_ordinary_text_stays_as_it_is() -> None:
    assert one_line("4 × H100 80 GB, Größe: 2 — \u00e9🙂") == "4 × H100 80 GB, Größe: 2 — \u00e9🙂"
