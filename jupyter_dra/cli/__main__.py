"""``python -m jupyter_dra.cli``: the same as ``jupyter dra``."""

from __future__ import annotations

import sys

from .main import main

sys.exit(main())
