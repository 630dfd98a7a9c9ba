"""A real nginx with deploy/nginx.conf, on loopback and with a certificate of its own."""

from __future__ import annotations

import os
import shutil
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from launcher import ports
from launcher.process import Command, Process
from tests.live import ROOT, eventually
from tests.programs import require_program

HOST = "toolgauge.example.com"
MAIN = """
daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ }}
http {{
    access_log off;
    client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
    uwsgi_temp_path {folder}; scgi_temp_path {folder};
    include {folder}/toolgauge.conf;
}}
"""


@dataclass(frozen=True, slots=True)
class TlsProxy:
    """The ports of a running proxy, and a client that trusts its certificate."""

    port: int
    plain_port: int
    certificate: Path

    def client(self) -> httpx.Client:
        """Connects to the proxy under its host name."""
        trust = ssl.create_default_context(cafile=str(self.certificate))
        client = httpx.Client(verify=trust, base_url=f"https://127.0.0.1:{self.port}")
        client.headers["Host"] = HOST
        client.event_hooks["request"] = [_name_the_host]
        return client


def _name_the_host(request: httpx.Request) -> None:
    request.extensions["sni_hostname"] = HOST


@contextmanager
def tls_proxy(folder: Path, web_port: int) -> Iterator[TlsProxy]:
    """Run nginx in front of a port."""
    folder.mkdir()
    proxy = TlsProxy(ports.free_port(), ports.free_port(), folder / "fullchain.pem")
    _write_certificate(folder)
    (folder / "toolgauge.conf").write_text(_configuration(folder, proxy, web_port))
    (folder / "nginx.conf").write_text(MAIN.format(folder=folder))
    program = _find_nginx()
    command = (program, "-p", str(folder), "-e", "error.log", "-c", str(folder / "nginx.conf"))
    process = Process(Command(command, os.environ, folder, folder / "nginx.log"))
    try:
        eventually(lambda: not ports.is_free(proxy.port))
        yield proxy
    finally:
        process.stop()


def _find_nginx() -> str:
    """Debian has it where only root looks."""
    program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
    return require_program(program, "NO NGINX: install nginx-light")


def _configuration(folder: Path, proxy: TlsProxy, web_port: int) -> str:
    changes = {
        "listen 80;": f"listen 127.0.0.1:{proxy.plain_port};",
        "listen 443 ssl;": f"listen 127.0.0.1:{proxy.port} ssl;",
        "/etc/ssl/toolgauge/": f"{folder}/",
        "http://127.0.0.1:8000;": f"http://127.0.0.1:{web_port};",
    }
    text = (ROOT / "deploy/nginx.conf").read_text()
    for ours, here in changes.items():
        assert ours in text, ours
        text = text.replace(ours, here)
    return text


def _write_certificate(folder: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "fullchain.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / "privkey.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
