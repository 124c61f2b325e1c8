"""Volumes as folders of this machine, written the way the kubelet's atomic writer does.

Follows pkg/volume/util/atomic_writer.go: the files stand in a folder named after the moment, ``..data`` points to it,
and every key is a link through ``..data``; an update swaps ``..data`` in one rename.
"""

from __future__ import annotations

import base64
import os
import secrets as randomness
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from jupyter_dra.errors import InputError
from jupyter_dra.localcluster.agent.environment import MissingSource, Place, Sources, resource_field

_DEFAULT_MODE = 0o644
_TOKEN_SECONDS = 3600


@dataclass(frozen=True, slots=True)
class Folders:
    """Where volumes are made: ``disk`` for all, ``memory`` for emptyDir volumes of that medium."""

    disk: Path
    memory: Path


@dataclass(frozen=True, slots=True)
class FileContent:
    data: bytes
    mode: int


async def materialize(volume: Mapping[str, Any], place: Place, folders: Folders, sources: Sources) -> Path:
    """Create one volume of a pod and return its folder; existing content of projected kinds is updated.

    Raises:
        MissingSource: a Secret or ConfigMap is not there (yet).
        InputError: the kind of volume is not offered by this node.
    """
    name = volume["name"]
    if "emptyDir" in volume:
        empty = volume["emptyDir"] or {}
        root = folders.memory if empty.get("medium") == "Memory" else folders.disk
        return _private_folder(root, name)
    if "hostPath" in volume:
        return _host_path(volume["hostPath"])
    content = await projected_content(volume, place, sources)
    folder = _private_folder(folders.disk, name)
    write_atomically(folder, content)
    return folder


def is_projected(volume: Mapping[str, Any]) -> bool:
    """Tell whether a volume's files come from objects that may change while the pod runs."""
    return any(kind in volume for kind in ("secret", "configMap", "downwardAPI", "projected"))


async def projected_content(
    volume: Mapping[str, Any], place: Place, sources: Sources
) -> dict[str, FileContent]:
    """Return the files (relative path → content) of a secret, configMap, downwardAPI or projected volume."""
    if projected := volume.get("projected"):
        mode = projected.get("defaultMode", _DEFAULT_MODE)
        files: dict[str, FileContent] = {}
        for source in projected.get("sources") or ():
            files |= await _source_content(source, mode, place, sources)
        return files
    for kind in ("secret", "configMap", "downwardAPI"):
        if kind in volume:
            source = volume[kind] or {}
            mode = source.get("defaultMode", _DEFAULT_MODE)
            return await _source_content({kind: source}, mode, place, sources)
    kinds = sorted(set(volume) - {"name"})
    raise InputError(f"this node offers no volumes of kind {', '.join(kinds) or 'none'}")


async def _source_content(
    source: Mapping[str, Any], mode: int, place: Place, sources: Sources
) -> dict[str, FileContent]:
    namespace = place.pod["metadata"]["namespace"]
    if (secret := source.get("secret")) is not None:
        name = secret.get("secretName") or secret.get("name", "")
        found = await sources.secret(namespace, name)
        data = {key: base64.b64decode(text) for key, text in ((found or {}).get("data") or {}).items()}
        return _selected(found, data, secret, mode, f'secret "{name}"')
    if (config_map := source.get("configMap")) is not None:
        name = config_map.get("name", "")
        found = await sources.config_map(namespace, name)
        data = {key: str(text).encode() for key, text in ((found or {}).get("data") or {}).items()}
        binary = (found or {}).get("binaryData") or {}
        data |= {key: base64.b64decode(text) for key, text in binary.items()}
        return _selected(found, data, config_map, mode, f'configmap "{name}"')
    if (downward := source.get("downwardAPI")) is not None:
        return {
            _safe(item["path"]): FileContent(_downward(item, place).encode(), item.get("mode", mode))
            for item in downward.get("items") or ()
        }
    if (token := source.get("serviceAccountToken")) is not None:
        text = await sources.token(
            place.pod, token.get("audience"), token.get("expirationSeconds") or _TOKEN_SECONDS
        )
        return {_safe(token["path"]): FileContent(text.encode(), 0o600)}
    raise InputError(f"this node offers no projection of {', '.join(sorted(source)) or 'nothing'}")


def _selected(
    found: Mapping[str, Any] | None,
    data: Mapping[str, bytes],
    source: Mapping[str, Any],
    mode: int,
    what: str,
) -> dict[str, FileContent]:
    optional = bool(source.get("optional"))
    if found is None and not optional:
        raise MissingSource(f"{what} not found")
    items = source.get("items")
    if not items:
        return {_safe(key): FileContent(value, mode) for key, value in data.items()}
    files = {}
    for item in items:
        if item["key"] in data:
            files[_safe(item["path"])] = FileContent(data[item["key"]], item.get("mode", mode))
        elif not optional:
            raise MissingSource(f"references non-existent {what.split(' ')[0]} key: {item['key']}")
    return files


def _downward(item: Mapping[str, Any], place: Place) -> str:
    if reference := item.get("resourceFieldRef"):
        wanted = reference.get("containerName")
        for container in place.pod["spec"]["containers"]:
            if container["name"] == wanted:
                return resource_field(container, reference)
        raise InputError(f"container {wanted} not found")
    return place.field(item["fieldRef"]["fieldPath"])


def _safe(path: str) -> str:
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or any(part == ".." for part in parts) or parts[0].startswith(".."):
        raise InputError(f"invalid path {path!r}: must be relative and stay inside the volume")
    return "/".join(parts)


def _host_path(source: Mapping[str, Any]) -> Path:
    path = Path(source["path"])
    if source.get("type") == "DirectoryOrCreate":
        path.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        raise InputError(f"hostPath type check failed: {path} does not exist")
    return path


def _private_folder(root: Path, name: str) -> Path:
    folder = root / name
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def write_atomically(folder: Path, files: Mapping[str, FileContent]) -> bool:
    """Make ``folder`` hold exactly these files; return False when it did so already.

    Works through folder descriptors and follows no link that stands inside.
    """
    root = os.open(folder, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0))
    try:
        try:
            current: str | None = os.readlink("..data", dir_fd=root)
        except OSError:
            current = None
        if current is not None and _content_equals(folder / current, files):
            return False
        stamp = f"..{time.strftime('%Y_%m_%d_%H_%M_%S')}.{randomness.token_hex(4)}"
        os.mkdir(stamp, 0o755, dir_fd=root)
        for path, content in files.items():
            _write_file(root, stamp, path, content)
        os.symlink(stamp, "..data_tmp", dir_fd=root)
        os.rename("..data_tmp", "..data", src_dir_fd=root, dst_dir_fd=root)
        wanted = {path.split("/")[0] for path in files}
        present = {name for name in os.listdir(root) if not name.startswith("..")}
        for name in wanted - present:
            os.symlink(f"..data/{name}", name, dir_fd=root)
        for name in present - wanted:
            os.unlink(name, dir_fd=root)
        if current is not None and "/" not in current:
            shutil.rmtree(current, ignore_errors=True, dir_fd=root)
        return True
    finally:
        os.close(root)


def _content_equals(folder: Path, files: Mapping[str, FileContent]) -> bool:
    present = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    return present == set(files) and all((folder / p).read_bytes() == c.data for p, c in files.items())


def _write_file(root: int, stamp: str, path: str, content: FileContent) -> None:
    *folders, name = path.split("/")
    at = os.open(stamp, os.O_RDONLY, dir_fd=root)
    try:
        for folder in folders:
            try:
                os.mkdir(folder, 0o755, dir_fd=at)
            except FileExistsError:
                pass
            deeper = os.open(folder, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0), dir_fd=at)
            os.close(at)
            at = deeper
        target = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=at)
        try:
            view = memoryview(content.data)
            while view:
                view = view[os.write(target, view) :]
            os.fchmod(target, content.mode & 0o7777)
        finally:
            os.close(target)
    finally:
        os.close(at)


def remove_tree(folder: Path) -> None:
    """Remove a pod's folder without following links (``shutil.rmtree`` works by descriptors where it can)."""
    if folder.is_symlink():
        folder.unlink()
    else:
        shutil.rmtree(folder, ignore_errors=True)
