"""Device selectors: parse, check, evaluate and explain CEL as the scheduler does."""

from jupyter_dra.cel.device import DeviceView
from jupyter_dra.cel.issues import Issue, SelectorCompileError
from jupyter_dra.cel.literals import string_literal
from jupyter_dra.cel.selector import Selector, compile_selector

__all__ = ["DeviceView", "Issue", "Selector", "SelectorCompileError", "compile_selector", "string_literal"]
