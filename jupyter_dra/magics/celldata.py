"""Variables as data, for ``%%dra``: what travels to the session's kernel and what comes back.

Both ends run this very text, and the other end may lack this package: standard library only (numpy, pyarrow and
pandas where they are there anyway), Python 3.8 and later. What arrives is treated as hostile: sizes are
checked before anything is made of it, arrays hold no objects, tables are not compressed, nothing is unpickled unless
the cell asked for it.
"""

from __future__ import annotations

import base64
import io
import json
import math
import struct
import sys
from importlib import import_module
from typing import Any

LIMIT = 64 * 2**20
MIME = "application/vnd.jupyter-dra.data"
CHUNK = 2**20
DEPTH = 64
NPY_HEADER = 4096
SCALARS = "biufcSUmM?"


class CannotTravel(Exception):
    """A value that is no data, or too large; the text names it."""


class Packer:
    """Turns values into one JSON-able tree and a list of byte parts."""

    def __init__(self, limit: int = LIMIT, pickle: bool = False) -> None:
        self.limit, self.pickle = limit, pickle
        self.parts: list[bytes] = []
        self.size = 0

    def add(self, data: bytes, name: str) -> int:
        self._count(len(data), name)
        self.parts.append(data)
        return len(self.parts) - 1

    def _count(self, size: int, name: str) -> None:
        self.size += size
        if self.size > self.limit:
            raise CannotTravel(
                f"{name} is too large: more than {self.limit >> 20} MiB in all. Read it on the other side."
            )

    def pack(self, value: Any, name: str, depth: int = 0) -> Any:
        """The tree of one value; raises CannotTravel with the name of what cannot be sent."""
        if depth > DEPTH:
            raise CannotTravel(f"{name} is nested too deep.")
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is int:
            self._count(8 + value.bit_length() // 8, name)
            return value if abs(value) < 2**53 else {"k": "int", "v": hex(value)}
        if kind is float:
            self._count(8, name)
            return value if math.isfinite(value) else {"k": "float", "v": repr(value)}
        if kind is complex:
            return {"k": "complex", "v": [repr(value.real), repr(value.imag)]}
        if kind is str:
            self._count(len(value.encode("utf-8", "surrogatepass")), name)
            return value
        if kind is bytes or kind is bytearray:
            return {"k": kind.__name__, "p": self.add(bytes(value), name)}
        if kind in (list, tuple, set, frozenset):
            self._count(8 * len(value), name)
            items = [self.pack(item, f"{name}[{i}]", depth + 1) for i, item in enumerate(value)]
            return {"k": kind.__name__, "v": items}
        if kind is dict:
            self._count(16 * len(value), name)
            return {"k": "dict", "v": [self._pair(key, value[key], name, depth) for key in value]}
        return self._foreign(value, name)

    def _pair(self, key: Any, value: Any, name: str, depth: int) -> list[Any]:
        if type(key) not in (str, int, float, bool, bytes, tuple, type(None)):
            raise CannotTravel(f"{name} has a key of type {type_name(key)}.")
        inner = f"{name}[{repr(key)[:40]}]"
        return [self.pack(key, inner, depth + 1), self.pack(value, inner, depth + 1)]

    def _foreign(self, value: Any, name: str) -> Any:
        """Arrays and tables of the libraries that are loaded anyway."""
        numpy, arrow, pandas = (sys.modules.get(one) for one in ("numpy", "pyarrow", "pandas"))
        if numpy is not None and (type(value) is numpy.ndarray or isinstance(value, numpy.generic)):
            return self._array(numpy, value, name)
        if pandas is not None and type(value) in (pandas.DataFrame, pandas.Series):
            pyarrow = import_module("pyarrow")
            frame = value if type(value) is pandas.DataFrame else value.to_frame()
            kind = "frame" if frame is value else "series"
            try:
                table = pyarrow.Table.from_pandas(frame)
            except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError) as error:
                raise CannotTravel(f"{name} holds what Arrow cannot: {str(error)[:200]}") from error
            named = None if kind == "frame" else value.name
            return {"k": kind, "p": self.add(_stream(pyarrow, table), name), "n": named}
        if arrow is not None and type(value) in (arrow.Table, arrow.RecordBatch):
            table = value if type(value) is arrow.Table else arrow.Table.from_batches([value])
            return {"k": "table", "p": self.add(_stream(arrow, table), name)}
        if self.pickle:
            import pickle

            return {"k": "pickle", "p": self.add(pickle.dumps(value), name)}
        raise CannotTravel(f"{name} is a {type_name(value)}; that cannot travel as data.")

    def _array(self, numpy: Any, value: Any, name: str) -> Any:
        array = numpy.asarray(value)
        if array.dtype.kind not in SCALARS or array.dtype.hasobject:
            raise CannotTravel(f"{name} is an array of {array.dtype}; only numbers and texts travel.")
        if array.nbytes > self.limit:
            self._count(array.nbytes, name)
        file = io.BytesIO()
        numpy.lib.format.write_array(
            file, numpy.ascontiguousarray(array).reshape(array.shape), allow_pickle=False
        )
        kind = "array" if type(value) is numpy.ndarray else "scalar"
        return {"k": kind, "p": self.add(file.getvalue(), name)}


class Unpacker:
    """Makes values of a tree and its parts; raises CannotTravel for anything it does not know."""

    def __init__(self, parts: list[bytes], pickle: bool = False) -> None:
        self.parts, self.pickle = parts, pickle

    def unpack(self, tree: Any, depth: int = 0) -> Any:
        if depth > DEPTH:
            raise CannotTravel("A value is nested too deep.")
        if tree is None or type(tree) in (bool, int, float, str):
            return tree
        if type(tree) is not dict or type(tree.get("k")) is not str:
            raise CannotTravel("A value is not readable.")
        make = getattr(self, "_" + tree["k"], None) if tree["k"] in KINDS else None
        if make is None:
            raise CannotTravel("A value is of an unknown kind.")
        return make(tree, depth)

    def _items(self, tree: Any, depth: int) -> list[Any]:
        return [self.unpack(item, depth + 1) for item in tree["v"]]

    def _part(self, tree: Any) -> bytes:
        part: bytes = self.parts[tree["p"]]
        return part

    def _int(self, tree: Any, depth: int) -> Any:
        return int(str(tree["v"]), 16)

    def _float(self, tree: Any, depth: int) -> Any:
        return float(str(tree["v"]))

    def _complex(self, tree: Any, depth: int) -> Any:
        return complex(float(str(tree["v"][0])), float(str(tree["v"][1])))

    def _bytes(self, tree: Any, depth: int) -> Any:
        return self._part(tree)

    def _bytearray(self, tree: Any, depth: int) -> Any:
        return bytearray(self._part(tree))

    def _list(self, tree: Any, depth: int) -> Any:
        return self._items(tree, depth)

    def _tuple(self, tree: Any, depth: int) -> Any:
        return tuple(self._items(tree, depth))

    def _set(self, tree: Any, depth: int) -> Any:
        return set(self._items(tree, depth))

    def _frozenset(self, tree: Any, depth: int) -> Any:
        return frozenset(self._items(tree, depth))

    def _dict(self, tree: Any, depth: int) -> Any:
        return {self.unpack(key, depth + 1): self.unpack(value, depth + 1) for key, value in tree["v"]}

    def _array(self, tree: Any, depth: int) -> Any:
        return read_npy(self._part(tree))

    def _scalar(self, tree: Any, depth: int) -> Any:
        return read_npy(self._part(tree))[()]

    def _table(self, tree: Any, depth: int) -> Any:
        return read_table(self._part(tree))

    def _frame(self, tree: Any, depth: int) -> Any:
        return self._table(tree, depth).to_pandas()

    def _series(self, tree: Any, depth: int) -> Any:
        column = self._frame(tree, depth).iloc[:, 0]
        column.name = tree.get("n")
        return column

    def _pickle(self, tree: Any, depth: int) -> Any:
        if not self.pickle:
            raise CannotTravel(
                "A value came as a pickle, which runs code; it is not loaded without --pickle."
            )
        import pickle

        return pickle.loads(self._part(tree))


KINDS = frozenset(name[1:] for name in vars(Unpacker) if name[0] == "_" and name not in ("_items", "_part"))


def type_name(value: Any) -> str:
    kind = type(value)
    home = kind.__module__
    return kind.__qualname__ if home in ("builtins", "__main__") else f"{home}.{kind.__qualname__}"


def _stream(arrow: Any, table: Any) -> bytes:
    sink = arrow.BufferOutputStream()
    with arrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def read_npy(data: bytes) -> Any:
    """An array without objects whose header tells its true size."""
    numpy = import_module("numpy")
    file = io.BytesIO(data)
    try:
        version = numpy.lib.format.read_magic(file)
        read = {(1, 0): "read_array_header_1_0", (2, 0): "read_array_header_2_0"}[version]
        shape, _, dtype = getattr(numpy.lib.format, read)(file, max_header_size=NPY_HEADER)
    except (ValueError, KeyError, TypeError) as error:
        raise CannotTravel("An array is not readable.") from error
    if dtype.hasobject or dtype.kind not in SCALARS:
        raise CannotTravel("An array holds objects; it is not loaded.")
    wanted = dtype.itemsize
    for length in shape:
        wanted *= length
    if wanted != len(data) - file.tell():
        raise CannotTravel("An array is not of the size it says.")
    return numpy.load(io.BytesIO(data), allow_pickle=False, max_header_size=NPY_HEADER)


def read_table(data: bytes) -> Any:
    """An Arrow table that is not larger in memory than on the wire."""
    pyarrow = import_module("pyarrow")
    if int(pyarrow.__version__.split(".")[0]) < 15:
        raise CannotTravel("pyarrow is older than 15, which loads code from data; install a newer one.")
    reader = pyarrow.BufferReader(data)
    try:
        while True:
            message = pyarrow.ipc.read_message(reader)
            if message.type != "schema" and compressed(bytes(message.metadata)):
                raise CannotTravel("A table is compressed; it is not loaded.")
    except EOFError:
        pass
    except (pyarrow.ArrowInvalid, OSError, struct.error, IndexError) as error:
        raise CannotTravel("A table is not readable.") from error
    try:
        table = pyarrow.ipc.open_stream(data).read_all()
        for field in table.schema:
            _check_column(pyarrow.types, field.type, field.name)
        if table.num_rows > 8 * len(data):  # a row of the smallest type takes a bit
            raise CannotTravel("A table has more rows than what came could hold.")
        table.validate(full=True)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError, OSError) as error:
        raise CannotTravel("A table is not readable.") from error
    return table


def _check_column(types: Any, kind: Any, name: str, inner: bool = False) -> None:
    """Raise CannotTravel for a type whose values can be larger in memory than on the wire.

    Runs and views repeat what was sent once, nulls take no place at all, and a code that stands for a text grows
    to that text inside a list; at the top a column of codes stays one.
    """
    plain = ("integer", "floating", "boolean", "temporal", "decimal", "fixed_size_binary")
    texts = ("string", "large_string", "binary", "large_binary")
    if any(getattr(types, f"is_{one}")(kind) for one in (*plain, *texts)):
        return
    if types.is_null(kind) and not inner:
        return
    if types.is_dictionary(kind) and not inner:
        return _check_column(types, kind.value_type, name, inner=True)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return _check_column(types, kind.value_type, name, inner=True)
    if types.is_struct(kind) or types.is_map(kind):
        parts = [kind.key_type, kind.item_type] if types.is_map(kind) else [field.type for field in kind]
        if parts:
            for part in parts:
                _check_column(types, part, name, inner=True)
            return
    raise CannotTravel(f"A table has a column {name[:60]!r} of type {str(kind)[:60]}; it is not loaded.")


def compressed(message: bytes) -> bool:
    """Whether a record or dictionary batch is compressed (arrow/format/Message.fbs, read as a flatbuffer)."""
    header_type, header = _slot(message, _root(message), 1), _slot(message, _root(message), 2)
    if not header_type or not header:
        return True
    table = _follow(message, header)
    if message[header_type] == 2:  # DictionaryBatch: its data is a RecordBatch
        data = _slot(message, table, 1)
        if not data:
            return True
        table = _follow(message, data)
    return bool(_slot(message, table, 3))


def _root(data: bytes) -> int:
    return int(struct.unpack_from("<I", data, 0)[0])


def _follow(data: bytes, at: int) -> int:
    return at + int(struct.unpack_from("<I", data, at)[0])


def _slot(data: bytes, table: int, number: int) -> int:
    """Where a field of a flatbuffer table lies; 0 when it is absent."""
    vtable = table - struct.unpack_from("<i", data, table)[0]
    if 4 + 2 * number >= struct.unpack_from("<H", data, vtable)[0]:
        return 0
    offset = struct.unpack_from("<H", data, vtable + 4 + 2 * number)[0]
    return table + offset if offset else 0


def to_text(values: dict[str, Any], limit: int = LIMIT, pickle: bool = False) -> tuple[str, dict[str, int]]:
    """The values as ASCII, and how many bytes each takes; raises CannotTravel with the name of what is no data."""
    packer = Packer(limit, pickle)
    trees: dict[str, Any] = {}
    sizes: dict[str, int] = {}
    for name, value in values.items():
        before = packer.size
        trees[name] = packer.pack(value, name)
        sizes[name] = packer.size - before
    return _text(packer, trees, {}), sizes


def _text(packer: Packer, trees: dict[str, Any], problems: dict[str, str]) -> str:
    parts = [base64.b64encode(part).decode("ascii") for part in packer.parts]
    return json.dumps({"trees": trees, "parts": parts, "problems": problems})


def from_text(text: str, pickle: bool = False) -> tuple[dict[str, Any], dict[str, str]]:
    """The values of a text, and why others are missing; raises CannotTravel."""
    try:
        document = json.loads(text)
        parts = [base64.b64decode(part, validate=True) for part in document["parts"]]
        unpacker = Unpacker(parts, pickle)
        values = {str(name): unpacker.unpack(tree) for name, tree in document["trees"].items()}
        return values, {str(name): str(why)[:500] for name, why in document["problems"].items()}
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise CannotTravel(f"What came is not readable: {type(error).__name__}.") from error


def place(namespace: dict[str, Any], chunks: list[str], pickle: bool) -> None:
    """On the session's kernel: put the sent variables where the cell finds them."""
    text = "".join(chunks)
    chunks.clear()
    namespace.update(from_text(text, pickle)[0])


def publish(namespace: dict[str, Any], names: list[str], limit: int, pickle: bool) -> None:
    """On the session's kernel: send what can travel of these variables, and say what cannot."""
    packer = Packer(limit, pickle)
    trees: dict[str, Any] = {}
    problems: dict[str, str] = {}
    for name in names:
        parts, size = len(packer.parts), packer.size
        try:
            if name not in namespace:
                raise CannotTravel(f"{name} is not defined after the cell.")
            trees[name] = packer.pack(namespace[name], name)
        except CannotTravel as why:
            problems[name] = str(why)
            del packer.parts[parts:]
            packer.size = size
    text = _text(packer, trees, problems)
    show = import_module("IPython.display").publish_display_data
    for start in range(0, len(text), CHUNK):
        show({MIME: text[start : start + CHUNK]})
