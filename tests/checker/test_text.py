"""YAML and its traps: an error with a place, never a traceback, never an object."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jupyter_dra.checker import check, documents
from jupyter_dra.checker.tree import TextProblem, read_documents
from jupyter_dra.errors import InputError

from .conftest import DATA, codes, only

SEEDS_OF_YAML = (
    "a: &base {u: 1, v: [2, x]}\nb: {<<: *base, v: 3}\nc: *base",
    "# only a comment",
    "- 1\n- [a, 'b', \"c\", 010, 1.5, ~, on, 2026-11-30]\n- k: |\n    text\n",
    '{"a": {"b": [1, 2.5, null, true, "x"]}}',
    "d:\n  <<: [{u: 1}, {u: 2, w: 3}]\n  z: !!str 5\n1: one\ntrue: yes\n",
)
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers: [{name: c, image: x}]\n"


@pytest.mark.parametrize(
    ("text", "code", "line", "column"),
    [
        ("a:\n\tb: 1", "yaml-tab", 2, 1),
        ("a: b: c", "yaml-syntax", 1, 5),
        ("a: 1\n b: 2", "yaml-syntax", 2, 3),
        ("a: 'x", "yaml-syntax", 1, 6),
        ("a: *x", "yaml-syntax", 1, 4),
        ("a: &a [*a]", "yaml-alias", 1, 8),
        ("x: !!python/object/apply:os.system ['id']", "yaml-tag", 1, 4),
        ("x: !thing 1", "yaml-tag", 1, 4),
        ("a: \x00", "not-text", 1, 4),
        ("- just\n- a list", "no-object", 1, 1),
        ("just text", "no-object", 1, 1),
    ],
)
def test_a_text_that_cannot_be_read_is_a_finding_with_its_place(
    text: str, code: str, line: int, column: int
) -> None:
    finding = only(check(text), code)
    assert (finding.severity, finding.line, finding.column) == ("error", line, column)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (
            "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
            + "".join(
                f"{chr(98 + n)}: &{chr(98 + n)} [{','.join('*' + chr(97 + n) for _ in range(10))}]\n"
                for n in range(12)
            ),
            "yaml-alias",
        ),
        ("[" * 20_000, "yaml-syntax"),
        ('{"a":' * 20_000, "too-deep"),
        ("a: " + "x" * 5_000_000, "too-large"),
        ("- a\n" * 70_000, "too-large"),
        ("a: 1\n---\n" * 1_200, "too-many-documents"),
    ],
    ids=["alias bomb", "lists in lists", "mappings in mappings", "bytes", "values", "documents"],
)
def test_hostile_texts_end_at_a_limit(text: str, code: str) -> None:
    result = check(text, fix=True)
    assert code in {finding.code for finding in result.findings}
    assert not result.clean


@pytest.mark.parametrize("raw", ["apiVersion: v1".encode("utf-16"), "a: \xff".encode("latin-1")])
def test_bytes_that_are_no_utf8_are_said_to_be(raw: bytes) -> None:
    finding = only(check(raw), "not-text")
    assert finding.line == 1


def test_one_broken_document_does_not_hide_the_others() -> None:
    result = check(f"a: [1\n---\n{POD}---\n# nothing here\n---\nkind: Pod\n")
    assert result.documents == 3
    assert [(finding.code, finding.document) for finding in result.findings] == [
        ("yaml-syntax", 0),
        ("required", 2),
    ]


def test_a_field_written_twice_is_told_with_its_second_place() -> None:
    finding = only(
        check(POD.replace("metadata: {name: p}", "metadata:\n  name: p\n  name: q")), "yaml-duplicate-key"
    )
    assert (finding.line, finding.column, finding.path) == (5, 3, "metadata.name")


@pytest.mark.parametrize("word", ["on", "off", "y", "n", "yes", "no"])
def test_words_that_yaml_reads_as_truth_values_are_named_where_text_is_needed(word: str) -> None:
    finding = only(check(POD.replace("name: p", f"name: {word}")), "yaml-boolean")
    assert finding.fix == f'Write "{word}" in quotes.'
    assert finding.server is not None
    assert (
        "cannot unmarshal bool into Go struct field ObjectMeta.metadata.name of type string"
        in finding.server.text
    )


def test_a_number_where_text_is_needed_asks_for_quotes() -> None:
    result = check(POD.replace("name: p", "name: p, labels: {version: 1.20}"), fix=True)
    assert isinstance(result.fixed, str)
    assert 'labels: {version: "1.20"}' in result.fixed
    assert result.clean


def test_a_field_name_that_became_a_truth_value_is_explained() -> None:
    finding = only(check(POD.replace("spec:\n", "spec:\n  on: 1\n")), "unknown-field")
    assert finding.path == "spec.true"
    assert finding.fix == 'Quote the field name "on": YAML reads it as true.'


def test_numbers_are_fine_as_quantities_and_octal_modes_are_read_like_kubectl() -> None:
    pod = POD + "  volumes: [{name: v, secret: {secretName: s, defaultMode: 0400}}]\n"
    pod = pod.replace("image: x", "image: x, resources: {limits: {cpu: 2, memory: 1Gi}}")
    assert check(pod).findings == ()
    assert documents("mode: 0400\nbig: 0x10\ntime: 1:30\nday: 2026-11-30\nword: y") == [
        {"mode": 256, "big": 16, "time": "1:30", "day": "2026-11-30", "word": True}
    ]


def test_json_is_read_with_places_even_when_indented_with_tabs() -> None:
    text = '{\n\t"apiVersion": "v1",\n\t"kind": "Pod",\n\t"metadata": {"name": "p"},\n\t"spec": {"containers": []}\n}'
    finding = only(check(text), "required")
    assert (finding.path, finding.line, finding.column) == ("spec.containers", 5, 11)


def test_anchors_and_merges_are_followed() -> None:
    text = "a: &base {u: 1, v: 2}\nb: {<<: *base, v: 3}\n"
    assert documents(text) == [{"a": {"u": 1, "v": 2}, "b": {"u": 1, "v": 3}}]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from([*SEEDS_OF_YAML]), min_size=1, max_size=3))
def test_plain_reading_and_reading_with_places_agree(parts: list[str]) -> None:
    text = "\n---\n".join(parts)
    with_places = [
        document.value() for document in read_documents(text) if not isinstance(document, TextProblem)
    ]
    assert documents(text) == with_places


@pytest.mark.parametrize(
    "text", ["a: &a [*a]", "x: !thing 1", "a: *b", "{[a]: 1}", "<<: 1", "[" * 20_000, "a: b: c", "a: \x00"]
)
def test_plain_reading_refuses_what_reading_with_places_refuses(text: str) -> None:
    with pytest.raises(InputError):
        documents(text)


def test_documents_raises_with_line_and_column() -> None:
    with pytest.raises(InputError, match=r"line 2, column 3") as caught:
        documents("a: 1\n b: 2")
    assert caught.value.code == "yaml-syntax"
    assert caught.value.params == {"line": 2, "column": 3}


def test_a_byte_order_mark_is_no_content() -> None:
    assert check("\ufeff" + POD).findings == ()


def test_an_unknown_target_is_refused_by_name() -> None:
    with pytest.raises(InputError, match=r"1\.20"):
        check(POD, target="1.20")
    assert check(POD, target="v1.36.2").target == "1.36"


SEEDS = [
    POD,
    (DATA / "as-published.yaml").read_text(),
    *(p.read_text() for p in sorted((DATA / "sound").glob("*.yaml"))),
]
PIECES = st.sampled_from(
    [
        "null",
        "[]",
        "{}",
        "1",
        "'",
        '"',
        "- ",
        "\t",
        "&a ",
        "*a",
        "!!str ",
        "?",
        "|\n",
        ": ",
        "\n---\n",
        "on",
        "spec:",
        "-1",
    ]
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(SEEDS), st.lists(st.tuples(st.floats(0, 1), st.integers(0, 12), PIECES), max_size=4))
def test_damaged_manifests_never_raise(text: str, damage: list[tuple[float, int, str]]) -> None:
    for where, cut, piece in damage:
        at = int(where * len(text))
        text = text[:at] + piece + text[at + cut :]
    result = check(text, fix=True, target="1.35")
    assert result.as_dict()["kind"] == "CheckResult"


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60))
def test_any_text_at_all_is_answered(text: str) -> None:
    check(text, fix=True)


def test_codes_of_findings_are_documented() -> None:
    from jupyter_dra.checker import FINDINGS

    for text in SEEDS:
        assert codes(text) <= set(FINDINGS)
