"""A passkey made of software: answers as a browser with an authenticator would."""

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

    def create(self, asked: dict[str, Any]) -> str:
        """What navigator.credentials.create() would bring, as the form carries it."""
        self.owner = asked["publicKey"]["user"]["id"]
        public = ES256.from_cryptography_key(self.key.public_key())  # type: ignore[no-untyped-call]
        data = AttestedCredentialData.create(bytes(16), self.id, public)
        flags = FLAG.UP | FLAG.UV | FLAG.AT
        made = AttestationObject.create("none", self._said(flags, bytes(data)), {})
        client_data = self._client_data("webauthn.create", asked)
        return self._answer(client_data, attestationObject=websafe_encode(bytes(made)))

    def get(self, asked: dict[str, Any]) -> str:
        """What navigator.credentials.get() would bring."""
        client_data = self._client_data("webauthn.get", asked)
        said = self._said(FLAG.UP | FLAG.UV)
        signed = bytes(said) + hashlib.sha256(client_data).digest()
        signature = self.key.sign(signed, ec.ECDSA(hashes.SHA256()))
        return self._answer(
            client_data,
            authenticatorData=websafe_encode(bytes(said)),
            signature=websafe_encode(signature),
            userHandle=self.owner,
        )

    def _said(self, flags: FLAG, credential: bytes = b"") -> AuthenticatorData:
        rp = hashlib.sha256(self.host.encode()).digest()
        said: AuthenticatorData = AuthenticatorData.create(rp, flags, 1, credential)
        return said

    def _client_data(self, kind: str, asked: dict[str, Any]) -> bytes:
        challenge = asked["publicKey"]["challenge"]
        return json.dumps({"type": kind, "challenge": challenge, "origin": self.origin}).encode()

    def _answer(self, client_data: bytes, **response: str) -> str:
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
    """Register it for whoever the client is signed in as, by the page and its form."""
    page = client.get("/settings/security/passkeys/new/").content.decode()
    found = re.search(r'<script id="invitation" type="application/json">(.+?)</script>', page)
    assert found is not None
    answer = key.create(json.loads(found[1]))
    form = {"name": "laptop", "credential": answer}
    return client.post("/settings/security/passkeys/new/", form)
