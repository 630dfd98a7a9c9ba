"""Stores API keys of endpoints, each encrypted for one endpoint and one origin."""

from __future__ import annotations

from django.utils.translation import gettext as _

from dashboard.core import encryption
from dashboard.core.errors import Refused
from dashboard.models import Credential, Endpoint
from probes.secret import Secret
from probes.target import origin


def store_key(endpoint: Endpoint, key: Secret) -> None:
    """Encrypt the key for the endpoint's current origin; replaces a stored key."""
    key_origin = origin(endpoint.base_url)
    sealed = encryption.encrypt_secret(key, encryption_context(endpoint.pk, key_origin))
    Credential.objects.update_or_create(
        endpoint=endpoint, defaults={"origin": key_origin, "sealed": sealed, "hint": key.hint}
    )


def delete_key(endpoint: Endpoint) -> None:
    Credential.objects.filter(endpoint=endpoint).delete()


def has_key(endpoint: Endpoint) -> bool:
    return Credential.objects.filter(endpoint=endpoint).exists()


def matches_key(credential: Credential, key: Secret) -> bool:
    """Whether this key is the stored one; False if the stored key cannot be decrypted."""
    context = encryption_context(credential.endpoint_id, credential.origin)
    try:
        return encryption.decrypt_secret(bytes(credential.sealed), context) == key
    except Refused:
        return False


def read_key(endpoint: Endpoint) -> Secret | None:
    """The endpoint's key, or None; refuses a key that was stored for another origin."""
    credential = Credential.objects.filter(endpoint=endpoint).first()
    if credential is None:
        return None
    if credential.origin != origin(endpoint.base_url):
        raise Refused(_("The stored key belongs to another host; enter the key again."))
    return encryption.decrypt_secret(
        bytes(credential.sealed), encryption_context(endpoint.pk, credential.origin)
    )


def encryption_context(endpoint_id: int, key_origin: str) -> bytes:
    """What a stored key is bound to: nothing else decrypts it."""
    return f"{endpoint_id} {key_origin}".encode()
