"""Put into this environment what an editable install leaves out: the front end (a link) and the server's switch."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    share = Path(sys.prefix) / "share" / "jupyter" / "labextensions"
    share.mkdir(parents=True, exist_ok=True)
    link = share / "jupyter-dra"
    if link.is_symlink():
        link.unlink()
    elif link.exists():
        shutil.rmtree(link)
    link.symlink_to(ROOT / "jupyter_dra" / "labextension", target_is_directory=True)
    config = Path(sys.prefix) / "etc" / "jupyter" / "jupyter_server_config.d"
    config.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(
        ROOT / "jupyter-config" / "server-config" / "jupyter_dra.json", config / "jupyter_dra.json"
    )


if __name__ == "__main__":
    main()
