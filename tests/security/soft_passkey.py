"""A software passkey: answers like a browser with an authenticator."""

from __future__ import annotations

import hashlib
import json
import os
import re
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from django.test import Client
from fido2.cose import ES256
from fido2.utils import websafe_encode
from fido2.webauthn import AttestationObject, AttestedCredentialData, AuthenticatorData

FLAG = AuthenticatorData.FLAG


class SoftPasskey:
    def __init__(self, host: str = "testserver") -> None:
        self.host, self.origin = host, f"https://{host}"
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.id, self.owner = os.urandom(16), ""

    def create(self, options: dict[str, Any]) -> str:
        """The result of navigator.credentials.create(), as the form carries it."""
        self.owner = options["publicKey"]["user"]["id"]
        public = ES256.from_cryptography_key(self.key.public_key())  # type: ignore[no-untyped-call]
        data = AttestedCredentialData.create(bytes(16), self.id, public)
        flags = FLAG.UP | FLAG.UV | FLAG.AT
        attestation = AttestationObject.create(
            "none", self._authenticator_data(flags, bytes(data)), {}
        )
        client_data = self._client_data("webauthn.create", options)
        return self._credential_json(
            client_data, attestationObject=websafe_encode(bytes(attestation))
        )

    def get(self, options: dict[str, Any]) -> str:
        """The result of navigator.credentials.get()."""
        client_data = self._client_data("webauthn.get", options)
        authenticator_data = self._authenticator_data(FLAG.UP | FLAG.UV)
        signed = bytes(authenticator_data) + hashlib.sha256(client_data).digest()
        signature = self.key.sign(signed, ec.ECDSA(hashes.SHA256()))
        return self._credential_json(
            client_data,
            authenticatorData=websafe_encode(bytes(authenticator_data)),
            signature=websafe_encode(signature),
            userHandle=self.owner,
        )

    def _authenticator_data(self, flags: FLAG, credential: bytes = b"") -> AuthenticatorData:
        rp = hashlib.sha256(self.host.encode()).digest()
        data: AuthenticatorData = AuthenticatorData.create(rp, flags, 1, credential)
        return data

    def _client_data(self, kind: str, options: dict[str, Any]) -> bytes:
        challenge = options["publicKey"]["challenge"]
        return json.dumps({"type": kind, "challenge": challenge, "origin": self.origin}).encode()

    def _credential_json(self, client_data: bytes, **response: str) -> str:
        return json.dumps(
            {
                "id": websafe_encode(self.id),
                "rawId": websafe_encode(self.id),
                "type": "public-key",
                "clientExtensionResults": {},
                "response": {"clientDataJSON": websafe_encode(client_data), **response},
            }
        )


def add_passkey(client: Client, key: SoftPasskey) -> Any:
    """Register it for the client's person, by the page and its form."""
    page = client.get("/settings/security/passkeys/new/").content.decode()
    match = re.search(r'<script id="invitation" type="application/json">(.+?)</script>', page)
    assert match is not None
    credential = key.create(json.loads(match[1]))
    form = {"name": "laptop", "credential": credential}
    return client.post("/settings/security/passkeys/new/", form)
