"""Device selectors: parse, check, evaluate and explain CEL as the scheduler does."""

from jupyter_dra.cel.device import DeviceView
from jupyter_dra.cel.issues import Issue, SelectorCompileError
from jupyter_dra.cel.literals import string_literal
from jupyter_dra.cel.profiles import ProfileTable
from jupyter_dra.cel.results import Results
from jupyter_dra.cel.selector import Outcome, Selector, compile_selector, constant_problems

__all__ = [
    "DeviceView",
    "Issue",
    "Outcome",
    "ProfileTable",
    "Results",
    "Selector",
    "SelectorCompileError",
    "compile_selector",
    "constant_problems",
    "string_literal",
]
