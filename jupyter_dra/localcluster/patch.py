"""JSON Patch (RFC 6902) and JSON Merge Patch (RFC 7386) on plain values; the input is never changed."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from jupyter_dra.localcluster.status import APIError, bad_request


def merge_patch(target: Any, patch: Any) -> Any:
    """RFC 7386: null deletes, objects merge, everything else replaces."""
    if not isinstance(patch, Mapping):
        return copy.deepcopy(patch)
    result = dict(target) if isinstance(target, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge_patch(result.get(key), value)
    return result


def _refused(text: str) -> APIError:
    return APIError(422, "Invalid", f"the server rejected our request due to an error in our request: {text}")


def json_patch(target: Any, operations: Sequence[Any]) -> Any:
    """RFC 6902; a failing operation or test is 422, a malformed list 400."""
    document = copy.deepcopy(target)
    for operation in operations:
        if not isinstance(operation, Mapping) or "op" not in operation or "path" not in operation:
            raise bad_request("error decoding patch: each operation needs op and path")
        document = _apply(document, operation)
    return document


def _apply(document: Any, operation: Mapping[str, Any]) -> Any:
    kind, path = operation["op"], _pointer(operation["path"])
    if kind in ("add", "replace", "test") and "value" not in operation:
        raise bad_request(f"error decoding patch: {kind} needs a value")
    if kind in ("move", "copy"):
        source = _pointer(operation.get("from", ""))
        value = copy.deepcopy(_get(document, source))
        if kind == "move":
            document = _remove(document, source)
        return _add(document, path, value)
    match kind:
        case "add":
            return _add(document, path, copy.deepcopy(operation["value"]))
        case "remove":
            return _remove(document, path)
        case "replace":
            _get(document, path)
            return _set(document, path, copy.deepcopy(operation["value"]))
        case "test":
            if _get(document, path) != operation["value"]:
                raise _refused(f"testing value {operation['path']} failed: test failed")
            return document
    raise bad_request(f"error decoding patch: unexpected kind: {kind}")


def _pointer(path: Any) -> list[str]:
    if not isinstance(path, str) or (path and not path.startswith("/")):
        raise bad_request(f"error decoding patch: {path!r} is not a JSON pointer")
    return [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]


def _index(container: list[Any], token: str, *, end: bool = False) -> int:
    if end and token == "-":
        return len(container)
    if not token.isdigit() or int(token) > len(container) - (0 if end else 1):
        raise _refused(f"index {token} out of bounds: invalid index")
    return int(token)


def _get(document: Any, path: list[str]) -> Any:
    found = document
    for token in path:
        if isinstance(found, dict) and token in found:
            found = found[token]
        elif isinstance(found, list):
            found = found[_index(found, token)]
        else:
            raise _refused(f"operation does not apply: doc is missing path: /{'/'.join(path)}: missing value")
    return found


def _set(document: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value
    parent = _get(document, path[:-1])
    if isinstance(parent, list):
        parent[_index(parent, path[-1])] = value
    else:
        parent[path[-1]] = value
    return document


def _add(document: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value
    parent = _get(document, path[:-1])
    if isinstance(parent, list):
        parent.insert(_index(parent, path[-1], end=True), value)
    elif isinstance(parent, dict):
        parent[path[-1]] = value
    else:
        raise _refused(f"add operation does not apply: doc is missing path: /{'/'.join(path)}: missing value")
    return document


def _remove(document: Any, path: list[str]) -> Any:
    _get(document, path)
    if not path:
        return None
    parent = _get(document, path[:-1])
    if isinstance(parent, list):
        del parent[_index(parent, path[-1])]
    else:
        del parent[path[-1]]
    return document
