"""A real nginx on loopback in front of a web process."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from launcher import ports
from tests.live import eventually

_CONFIG = """
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://127.0.0.1:{upstream};
            proxy_set_header Host $http_host;
            proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
            proxy_set_header X-Forwarded-Proto $scheme;
        }}
    }}
}}
"""


@contextmanager
def run_nginx(folder: Path, upstream: int) -> Iterator[int]:
    """Yields the port on which it listens; the client's address is appended to X-Forwarded-For."""
    port = ports.free_port()
    config = folder / "nginx.conf"
    config.write_text(_CONFIG.format(folder=folder, port=port, upstream=upstream))
    command = [_find_nginx(), "-p", str(folder), "-c", str(config), "-e", str(folder / "error.log")]
    child = subprocess.Popen(command)
    try:
        eventually(lambda: ports.http_status(port, "/healthz") == 200)
        yield port
    finally:
        child.terminate()
        child.wait(20)


def _find_nginx() -> str:
    path = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    if path is None:
        reason = "NO NGINX: install nginx-light; nothing was tested here"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return path
