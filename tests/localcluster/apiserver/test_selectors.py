"""Label and field selectors."""

from __future__ import annotations

import pytest

from jupyter_dra.localcluster.resources import named
from jupyter_dra.localcluster.selectors import Selection, parse_fields, parse_labels
from jupyter_dra.localcluster.status import APIError

PODS = named("pods")


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        ("app=web", True),
        ("app==web", True),
        ("app = web", True),
        ("app!=web", False),
        ("missing!=x", True),
        ("app in (web, db)", True),
        ("app notin (web,db)", False),
        ("missing notin (web)", True),
        ("app", True),
        ("!app", False),
        ("!missing", True),
        ("app=web,tier in (x)", False),
        ("app=web,jupyter-dra.dev/session=s1", True),
        ("size>5", True),
        ("size<5", False),
        ("app>5", False),
        ("empty=", True),
    ],
)
def test_label_selectors_match_as_kubernetes_reads_them(text: str, matches: bool) -> None:
    labels = {"app": "web", "jupyter-dra.dev/session": "s1", "size": "7", "empty": ""}
    selection = Selection(None, parse_labels(text))
    assert selection.matches({"metadata": {"labels": labels}}) is matches


@pytest.mark.parametrize("text", ["app in web", "a b", "=x", "app=we b", "app in (a", "!a=b", "a==b=c"])
def test_a_label_selector_outside_the_grammar_is_a_bad_request(text: str) -> None:
    with pytest.raises(APIError) as caught:
        parse_labels(text)
    assert caught.value.http_status == 400


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("metadata.name=p", True),
        ("metadata.namespace=default", True),
        ("spec.nodeName=n", True),
        ("spec.nodeName!=n", False),
        ("status.phase!=Succeeded,status.phase!=Failed", True),
        ("spec.nodeName=", False),
        ("spec.schedulerName=", True),
        ("status.podIP=1.2.3.4", False),
    ],
)
def test_field_selectors_match_pods(text: str, matches: bool) -> None:
    value = {
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {"nodeName": "n"},
        "status": {"phase": "Running"},
    }
    assert Selection(None, (), parse_fields(text, PODS)).matches(value) is matches


def test_a_field_that_a_kind_does_not_offer_is_named_in_the_refusal() -> None:
    with pytest.raises(APIError, match=r"field label not supported: spec\.image"):
        parse_fields("spec.image=x", PODS)


def test_a_cluster_scoped_kind_has_no_namespace_field() -> None:
    with pytest.raises(APIError):
        parse_fields("metadata.namespace=x", named("nodes"))


def test_an_escaped_value_is_read_back() -> None:
    terms = parse_fields(r"metadata.name=a\,b\=c", PODS)
    assert [term.value for term in terms] == ["a,b=c"]
