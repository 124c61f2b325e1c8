"""Tokens to nodes by operator precedence (``cel-go/parser/parser.go``), macros included.

Two Python frames per level of nesting, so that the 250 levels which the API server allows fit the stack.
"""

from __future__ import annotations

from functools import lru_cache

from jupyter_dra.cel.issues import SyntaxProblem
from jupyter_dra.cel.lexer import RESERVED, Token, tokenize
from jupyter_dra.cel.macros import expand_global, expand_member
from jupyter_dra.cel.syntax import Call, Ident, ListLiteral, Literal, Logic, MapLiteral, Node, Select
from jupyter_dra.model.limits import INT64_MAX

__all__ = ["MAX_DEPTH", "parse"]

MAX_DEPTH = 250
_START = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null',"
    " NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)
_RELATIONS = frozenset(("==", "!=", "<", "<=", ">", ">=", "in"))
_PRECEDENCE = {"||": 1, "&&": 2, **dict.fromkeys(_RELATIONS, 3), "+": 4, "-": 4, "*": 5, "/": 5, "%": 5}
_NAMES = {operator: f"_{operator}_" for operator in _PRECEDENCE}
_NAMES["in"] = "@in"
_REMEMBERED = 32
_WORDS: dict[str, object] = {"true": True, "false": False, "null": None}


@lru_cache(maxsize=_REMEMBERED)
def parse(text: str) -> Node:
    """Read a whole expression; raises SyntaxProblem. Nobody changes the nodes, so the newest are remembered."""
    parser = _Parser(tokenize(text))
    node = parser.expression()
    if parser.token.kind != "end":
        raise parser.unexpected(f"extraneous input '{parser.token.text}' expecting <EOF>")
    return node


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.index = 0
        self.token = tokens[0]
        self.depth = 0

    def advance(self) -> Token:
        token = self.token
        self.index += 1
        self.token = self.tokens[self.index]
        return token

    def unexpected(self, message: str) -> SyntaxProblem:
        return SyntaxProblem("Syntax error: " + message, self.token.at)

    def expect(self, text: str) -> Token:
        if self.token.text != text or self.token.kind != "op":
            raise self.unexpected(f"mismatched input '{self.token.text}' expecting '{text}'")
        return self.advance()

    def accept(self, text: str) -> bool:
        if self.token.text == text and self.token.kind == "op":
            self.advance()
            return True
        return False

    def expression(self, ternary: bool = True) -> Node:
        """Operands and operators by precedence; without ``ternary`` a ``?`` is left to the caller."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _too_deep(self.token.at)
        operands = [(self.operand(), 0)]
        operators: list[tuple[Token, int]] = []
        while True:
            token = self.token
            power = _PRECEDENCE.get(token.text, 0) if token.kind == "op" or token.kind == "word" else 0
            if not power:
                break
            self.advance()
            while operators and operators[-1][1] >= power:
                _reduce(operands, *operators.pop())
            operators.append((token, power))
            operands.append((self.operand(), 0))
        while operators:
            _reduce(operands, *operators.pop())
        node = operands[0][0]
        if ternary and self.token.text == "?" and self.token.kind == "op":
            at = self.advance().at
            yes = self.expression(ternary=False)
            self.expect(":")
            node = Call(at, "_?_:_", None, [node, yes, self.expression()])
        self.depth -= 1
        return node

    def operand(self) -> Node:
        """Signs, one primary, and what follows it: selections, indexes, calls."""
        signs = self.signs() if self.token.kind == "op" and self.token.text in ("-", "!") else []
        node = self.primary() if self.token.text != "(" or self.token.kind != "op" else None
        if node is None:
            self.advance()
            node = self.expression()
            self.expect(")")
        links = 0
        while self.token.kind == "op" and (self.token.text == "." or self.token.text == "["):
            if self.token.text == ".":
                node = self.selection(node)
            else:
                at = self.advance().at
                name = "_[?_]" if self.accept("?") else "_[_]"
                node = Call(at, name, None, [node, self.expression()])
                self.expect("]")
            links += 1
            if links > MAX_DEPTH:
                raise _too_deep(self.token.at)
        for name, at in reversed(signs):
            node = Call(at, name, None, [node])
        return node

    def signs(self) -> list[tuple[str, int]]:
        """The signs before an operand; an even number of one sign cancels, one minus joins a number."""
        found: list[tuple[str, int]] = []
        token, count = self.token, 0
        while self.token.text == token.text and self.token.kind == "op":
            last = self.advance()
            count += 1
        if token.text == "!":
            found += [("!_", token.at)] * (count % 2)
            if self.token.text != "-" or self.token.kind != "op":
                return found
            if self.tokens[self.index + 1].kind not in ("int", "float"):
                raise self.unexpected(f"no viable alternative at input '-{self.tokens[self.index + 1].text}'")
            last, count = self.advance(), 1
        if self.token.kind in ("int", "float"):
            number = self.token
            value = -number.value  # type: ignore[operator]
            self.tokens[self.index] = self.token = number._replace(value=value, at=last.at)
            count -= 1
        elif self.token.text == "!" and self.token.kind == "op":
            raise self.unexpected("no viable alternative at input '-!'")
        return found + [("-_", token.at)] * (count % 2)

    def selection(self, operand: Node) -> Node:
        at = self.advance().at
        optional = self.accept("?")
        name = self.token
        if name.kind != "ident":
            expected = "IDENTIFIER" if name.kind == "word" else "{IDENTIFIER, ESC_IDENTIFIER}"
            raise self.unexpected(f"mismatched input '{name.text}' expecting {expected}")
        self.advance()
        if not optional and self.token.text == "(" and self.token.kind == "op":
            opening = self.token.at
            args = self.arguments()
            return expand_member(operand, name.text, args, opening) or Call(opening, name.text, operand, args)
        return Select(at, operand, name.text, optional)

    def arguments(self) -> list[Node]:
        self.advance()
        args: list[Node] = []
        if self.accept(")"):
            return args
        while True:
            args.append(self.expression())
            if not self.accept(","):
                break
        self.expect(")")
        return args

    def primary(self) -> Node:
        token = self.token
        kind, text = token.kind, token.text
        if kind == "ident" or (kind == "op" and text == "."):
            return self.name()
        if kind in ("string", "float", "uint", "bytes"):
            self.advance()
            return Literal(token.at, token.value)
        if kind == "int":
            value = self.advance().value
            if not -INT64_MAX - 1 <= value <= INT64_MAX:  # type: ignore[operator]
                raise SyntaxProblem("invalid int literal", token.at)
            return Literal(token.at, value)
        if kind == "word" and text in _WORDS:
            self.advance()
            return Literal(token.at, _WORDS[text])
        if kind == "op" and text == "[":
            return self.list_literal()
        if kind == "op" and text == "{":
            return self.map_literal()
        raise self.unexpected(f"mismatched input '{text}' expecting {_START}")

    def name(self) -> Node:
        leading = self.accept(".")
        token = self.token
        if token.kind != "ident":
            raise self.unexpected(f"mismatched input '{token.text}' expecting IDENTIFIER")
        self.advance()
        if token.text in RESERVED:
            raise SyntaxProblem(f"reserved identifier: {token.text}", token.at)
        if self.token.text == "(" and self.token.kind == "op":
            opening = self.token.at
            args = self.arguments()
            return expand_global(token.text, args, opening) or Call(opening, token.text, None, args)
        if self.token.text == "{" and self.token.kind == "op":
            raise SyntaxProblem(f"undeclared reference to '{token.text}' (in container '')", self.token.at)
        return Ident(token.at - 1 if leading else token.at, token.text, leading)

    def list_literal(self) -> Node:
        at = self.advance().at
        elements: list[Node] = []
        optional: set[int] = set()
        while not self.closes("]", bool(elements)):
            if self.accept("?"):
                optional.add(len(elements))
            elements.append(self.expression())
        return ListLiteral(at, elements, frozenset(optional))

    def map_literal(self) -> Node:
        at = self.advance().at
        keys: list[Node] = []
        values: list[Node] = []
        optional: set[int] = set()
        while not self.closes("}", bool(keys)):
            if self.accept("?"):
                optional.add(len(keys))
            keys.append(self.expression())
            self.expect(":")
            values.append(self.expression())
        return MapLiteral(at, keys, values, frozenset(optional))

    def closes(self, bracket: str, need_comma: bool) -> bool:
        """Step over a comma; tell whether the bracket closes here (a comma may stand before it)."""
        comma = self.accept(",")
        if self.accept(bracket):
            return True
        if comma == need_comma:
            return False
        raise self.unexpected(f"mismatched input '{self.token.text}' expecting '{bracket}'")


def _reduce(operands: list[tuple[Node, int]], operator: Token, power: int) -> None:
    """Replace the last two operands by their combination; the number counts a chain's depth to the left."""
    right, _ = operands.pop()
    left, depth = operands.pop()
    if power > 2:
        if depth >= MAX_DEPTH:
            raise _too_deep(operator.at)
        operands.append((Call(operator.at, _NAMES[operator.text], None, [left, right]), depth + 1))
        return
    name = _NAMES[operator.text]
    if depth and isinstance(left, Logic) and left.function == name:
        left.terms.append(right)
        left.ats.append(operator.at)
    else:
        left = Logic(operator.at, name, [left, right], [operator.at])
    operands.append((left, 1))


def _too_deep(at: int) -> SyntaxProblem:
    return SyntaxProblem(f"expression recursion limit exceeded: {MAX_DEPTH}", at)
