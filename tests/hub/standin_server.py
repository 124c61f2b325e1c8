"""Stands in for a single-user server where a test needs many: answers every request, ends at once when told to."""

from __future__ import annotations

import os
import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    """Says that it is there."""

    def do_GET(self) -> None:
        body = b'{"version": "stand-in"}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
print("stand-in", sys.argv, flush=True)
ThreadingHTTPServer((os.environ["POD_IP"], 8888), Handler).serve_forever()
