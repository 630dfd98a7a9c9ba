"""A small OpenID Connect provider: real HTTP, real signatures, wrong answers on request."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm
from typing_extensions import override

CLIENT, SECRET = "toolgauge", "a-secret-between-both"


class Provider(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.signs_with = self.key
        self.authorize_params: dict[str, str] = {}
        self.claims: dict[str, Any] = {}
        self.issuer = self.url
        self.algorithm = "RS256"

    def authorize(self, address: str) -> str:
        """The URL that a browser is redirected to after signing in at the provider."""
        self.authorize_params = dict(parse_qsl(urlsplit(address).query))
        return f"/login/oidc/back/?code=the-code&state={self.authorize_params['state']}"

    def id_token(self) -> str:
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": CLIENT,
            "sub": "subject-1",
            "iat": now,
            "exp": now + 60,
            "nonce": self.authorize_params["nonce"],
            **self.claims,
        }
        key: Any = "" if self.algorithm == "none" else self.signs_with
        return jwt.encode(claims, key, self.algorithm, headers={"kid": "one"})

    def accepts(self, form: dict[str, list[str]]) -> bool:
        """Whether the code belongs to this flow, and comes from our client."""
        verifier = form.get("code_verifier", [""])[0]
        digest = hashlib.sha256(verifier.encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        is_our_client = form.get("client_secret") == [SECRET] and form.get("code") == ["the-code"]
        return is_our_client and challenge == self.authorize_params["code_challenge"]


class _Handler(BaseHTTPRequestHandler):
    server: Provider

    def do_GET(self) -> None:
        url = self.server.url
        if self.path == "/jwks":
            public = json.loads(RSAAlgorithm.to_jwk(self.server.key.public_key()))
            self._answer({"keys": [{**public, "kid": "one", "alg": "RS256", "use": "sig"}]})
        else:
            self._answer(
                {
                    "issuer": url,
                    "authorization_endpoint": f"{url}/authorize",
                    "token_endpoint": f"{url}/token",
                    "jwks_uri": f"{url}/jwks",
                    "token_endpoint_auth_methods_supported": ["client_secret_post"],
                }
            )

    def do_POST(self) -> None:
        form = parse_qs(self.rfile.read(int(self.headers["content-length"])).decode())
        if not self.server.accepts(form):
            self._answer({"error": "invalid_grant"}, 400)
            return
        self._answer({"access_token": "x", "id_token": self.server.id_token()})

    def _answer(self, body: dict[str, Any], status: int = 200) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    @override
    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def provider(settings: Any) -> Iterator[Provider]:
    """The running provider, configured as ours."""
    with Provider() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        settings.OIDC_ON, settings.OIDC_ISSUER, settings.OIDC_NAME = True, server.url, "Acme"
        settings.OIDC_CLIENT_ID, settings.OIDC_CLIENT_SECRET = CLIENT, SECRET
        settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
        yield server
        server.shutdown()
        thread.join()
