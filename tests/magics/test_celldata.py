"""What travels between a notebook and a cell's session: data, and nothing that runs."""

from __future__ import annotations

import base64
import json
import math
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import pytest

from jupyter_dra.magics import celldata
from jupyter_dra.magics.celldata import CannotTravel, from_text, to_text

VALUES: list[Any] = [
    None,
    True,
    0,
    -1,
    2**200,
    -(2**64),
    0.1,
    float("inf"),
    1 + 2j,
    "é\n\ud800",
    b"\x00\xff",
    bytearray(b"x"),
    [],
    [1, [2, (3, {4})]],
    frozenset({"a"}),
    {"a": 1, 2: "b", None: [], (1, "x"): {}, b"k": 0.5, True: "t"},
    {"k": "int", "v": "0x1"},
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: repr(value)[:30])
def test_plain_values_arrive_as_they_were(value: Any) -> None:
    back = from_text(to_text({"x": value})[0])[0]["x"]
    assert back == value
    assert type(back) is type(value)


def test_a_float_that_is_no_number_arrives() -> None:
    assert math.isnan(from_text(to_text({"x": float("nan")})[0])[0]["x"])


class Canary:
    """Pickles to something that leaves a trace when it is loaded."""

    touched: ClassVar[list[str]] = []

    def __reduce__(self) -> Any:
        return sing, ("loaded",)


def sing(text: str) -> None:
    Canary.touched.append(text)


def forged(tree: Any, *parts: bytes) -> str:
    texts = [base64.b64encode(part).decode() for part in parts]
    return json.dumps({"trees": {"x": tree}, "parts": texts, "problems": {}})


@pytest.mark.threat("T44")
def test_a_pickle_is_not_loaded_unless_the_cell_asked_for_it() -> None:
    text = forged({"k": "pickle", "p": 0}, pickle.dumps(Canary()))
    with pytest.raises(CannotTravel, match="pickle"):
        from_text(text)
    assert Canary.touched == []
    from_text(text, pickle=True)
    assert Canary.touched == ["loaded"]


@pytest.mark.threat("T44")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"trees": 1, "parts": [], "problems": {}}',
        '{"trees": {}, "parts": ["*"], "problems": {}}',
        forged({"k": "part", "p": 0}),
        forged({"k": "items", "v": []}),
        forged({"k": "__init__"}),
        forged({"k": "bytes", "p": 5}),
        forged({"k": "list"}),
        forged({"k": "dict", "v": [1]}),
        forged({"k": "set", "v": [{"k": "list", "v": []}]}),
        forged([1]),
        "[" * 100_000,
    ],
)
def test_nonsense_is_refused_plainly(text: str) -> None:
    with pytest.raises(CannotTravel):
        from_text(text)


@pytest.mark.threat("T44")
def test_values_are_counted_against_the_limit_wherever_they_hide() -> None:
    for value in ("x" * 2000, [0] * 2000, dict.fromkeys(range(2000)), b"x" * 2000, 1 << 20_000):
        with pytest.raises(CannotTravel, match="too large"):
            to_text({"x": value}, limit=1000)
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(CannotTravel, match="nested too deep"):
        to_text({"x": loop})


def test_subclasses_are_named_and_refused() -> None:
    class Named(dict[str, int]):
        pass

    with pytest.raises(CannotTravel, match=r"x\['in'\] is a .*Named"):
        to_text({"x": {"in": Named()}})


@pytest.mark.threat("T44")
def test_arrow_tables_travel_and_compressed_ones_are_not_opened() -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"n": [1, 2, None], "s": pa.array(["a", "b", "a"]).dictionary_encode()})
    assert from_text(to_text({"x": table})[0])[0]["x"].equals(table)

    for column in ([0] * 100_000, pa.array(["word"] * 1000).dictionary_encode()):
        sink = pa.BufferOutputStream()
        bomb = pa.table({"z": column})
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        with pa.ipc.new_stream(sink, bomb.schema, options=options) as writer:
            writer.write_table(bomb)
        with pytest.raises(CannotTravel, match="compressed"):
            from_text(forged({"k": "table", "p": 0}, sink.getvalue().to_pybytes()))
    with pytest.raises(CannotTravel, match="not readable"):
        from_text(forged({"k": "table", "p": 0}, b"\xff\xff\xff\xff\x10\x00\x00\x00nonsense"))


def streamed(pa: Any, table: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


@pytest.mark.threat("T44")
def test_tables_that_grow_in_memory_are_not_loaded() -> None:
    pa = pytest.importorskip("pyarrow")
    many = 10**9
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([many], pa.int32()), pa.array(["x" * 100]))
    codes = pa.DictionaryArray.from_arrays(pa.array([0] * 1000, pa.int8()), pa.array(["z" * 10_000]))
    bombs = {
        "nulls": pa.nulls(many),
        "runs": runs,
        "nulls in a list": pa.ListArray.from_arrays(pa.array([0, many], pa.int32()), pa.nulls(many)),
        "codes in a list": pa.ListArray.from_arrays(pa.array([0, 1000], pa.int32()), codes),
        "structs of nothing": pa.array([{}] * 100_000, pa.struct([])),
        "bytes of no length": pa.array([b""] * 100_000, pa.binary(0)),
    }
    if hasattr(pa, "ListViewArray"):
        views = ([0] * 1000, [1000] * 1000)
        bombs["views"] = pa.ListViewArray.from_arrays(
            *(pa.array(one, pa.int32()) for one in views), pa.array(range(1000))
        )
    for name, column in bombs.items():
        data = streamed(pa, pa.table({"n": column}))
        for kind in ("table", "frame", "series"):
            with pytest.raises(CannotTravel):
                from_text(forged({"k": kind, "p": 0}, data)), name


def test_tables_of_ordinary_types_travel_nested_or_not() -> None:
    pa = pytest.importorskip("pyarrow")
    import datetime
    from decimal import Decimal

    table = pa.table(
        {
            "none": pa.nulls(2),
            "flag": [True, None],
            "when": [datetime.datetime(2026, 1, 1), None],
            "money": [Decimal("2.90"), None],
            "list": [[1, 2], []],
            "struct": [{"a": 1, "b": ["x"]}, None],
            "map": pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int64())),
            "codes": pa.array(["a", "b"]).dictionary_encode(),
            "vector": pa.array([[1.0, 2.0], [3.0, 4.0]], pa.list_(pa.float64(), 2)),
        }
    )
    assert from_text(to_text({"x": table})[0])[0]["x"].equals(table)


@pytest.mark.threat("T44")
def test_arrays_travel_and_those_with_objects_or_a_false_header_are_not_loaded() -> None:
    np = pytest.importorskip("numpy")
    import io

    for array in (
        np.arange(6).reshape(2, 3).T,
        np.array(["a", "bc"]),
        np.array(5.0),
        np.zeros((0, 3), "M8[s]"),
    ):
        back = from_text(to_text({"x": array})[0])[0]["x"]
        assert back.dtype == array.dtype
        assert back.shape == array.shape
        assert (back == array).all()
    scalar = from_text(to_text({"x": np.float32(1.5)})[0])[0]["x"]
    assert type(scalar) is np.float32

    with pytest.raises(CannotTravel, match="array of object"):
        to_text({"x": np.array([object()])})
    file = io.BytesIO()
    np.save(file, np.array([Canary()], dtype=object), allow_pickle=True)
    with pytest.raises(CannotTravel, match="objects"):
        from_text(forged({"k": "array", "p": 0}, file.getvalue()))
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"shape": (10**10,), "fortran_order": False, "descr": "|u1"})
    with pytest.raises(CannotTravel, match="size it says"):
        from_text(forged({"k": "array", "p": 0}, file.getvalue() + b"few"))


def test_the_text_that_runs_on_the_other_side_needs_nothing_of_ours() -> None:
    source = Path(celldata.__file__).read_text(encoding="utf-8")
    code = (
        f"import types; m = types.ModuleType('m'); exec({source!r}, m.__dict__)\n"
        "ns = {}; m.place(ns, [m.to_text({'a': [1, b'2']})[0]], False); assert ns == {'a': [1, b'2']}\n"
    )
    subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True, timeout=60)
