"""The files of the product that can reach another machine."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CLIENTS = {
    "aiohttp",
    "apprise",
    "ftplib",
    "http.client",
    "httpcore",
    "httpx",
    "poplib",
    "imaplib",
    "requests",
    "smtplib",
    "telnetlib",
    "urllib.request",
    "urllib3",
    "xmlrpc.client",
}
CALLS = {"create_connection", "open_connection", "open_unix_connection", "create_datagram_endpoint"}
PACKAGES = ("cli", "config", "dashboard", "gateway", "health", "probes", "workers")


@cache
def trees() -> dict[str, ast.AST]:
    paths = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    return {str(path.relative_to(ROOT)): ast.parse(path.read_text()) for path in paths}


def files_with(matches: Callable[[ast.AST], bool]) -> set[str]:
    return {name for name, tree in trees().items() if any(matches(node) for node in ast.walk(tree))}


def test_only_named_files_know_a_client() -> None:
    """All traffic goes through a guarded transport, or from the confined process of Apprise."""

    def imports_one(node: ast.AST) -> bool:
        if isinstance(node, ast.Import):
            return any(_is_client(alias.name) for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            module = node.module or ""
            return _is_client(module) or any(
                _is_client(f"{module}.{alias.name}") for alias in node.names
            )
        return False

    assert files_with(imports_one) == {
        "dashboard/notifications/senders/apprise_process.py",
        "gateway/upstream.py",
        "probes/egress_backend.py",
        "probes/transport.py",
    }


def test_only_the_sign_in_by_a_provider_goes_by_another_way() -> None:
    """allauth only fetches from OIDC_ISSUER, which no person or endpoint chooses."""

    # allauth has its own client, without the guard: only dashboard/accounts/oidc.py uses it,
    # without redirects and without proxies from the environment (tests/security/test_oidc.py).
    def imports_allauth(node: ast.AST) -> bool:
        module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
        return module.startswith(
            ("allauth.socialaccount.providers", "allauth.socialaccount.adapter")
        )

    def fetches_keys(node: ast.AST) -> bool:
        return isinstance(node, ast.Attribute) and node.attr == "PyJWKClient"

    assert files_with(imports_allauth) == {"dashboard/accounts/oidc.py"}
    assert files_with(fetches_keys) == set()


def _is_client(name: str) -> bool:
    return any(name == client or name.startswith(f"{client}.") for client in CLIENTS)


def test_nobody_opens_a_connection_by_hand() -> None:
    """A socket opened by hand would bypass the guard.

    The gateway's server listens with one, and its client checks the address of each it makes.
    """

    def connects(node: ast.AST) -> bool:
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            return False
        owner = getattr(node.func.value, "id", "")
        return node.func.attr in CALLS or (owner, node.func.attr) == ("socket", "socket")

    assert files_with(connects) == {"gateway/server.py", "gateway/upstream.py"}


def test_every_transport_of_the_service_is_guarded() -> None:
    """Only the command line has no rules: its user chooses the URL."""

    def unguarded(node: ast.AST) -> bool:
        if not (isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Transport"):
            return False
        return not any(keyword.arg == "egress" for keyword in node.keywords)

    assert files_with(unguarded) == {"cli/probe/command.py", "probes/runner.py"}
