"""Keeping of endpoint keys, each sealed for one endpoint and one origin."""

from __future__ import annotations

from django.utils.translation import gettext as _

from dashboard.core import encryption
from dashboard.core.errors import Refused
from dashboard.models import Credential, Endpoint
from probes.secret import Secret
from probes.target import origin


def store(endpoint: Endpoint, key: Secret) -> None:
    """Seal the key for the endpoint's present origin; replaces what was stored."""
    place = origin(endpoint.base_url)
    sealed = encryption.encrypt_secret(key, _bound_to(endpoint.pk, place))
    Credential.objects.update_or_create(
        endpoint=endpoint, defaults={"origin": place, "sealed": sealed, "hint": key.hint}
    )


def forget(endpoint: Endpoint) -> None:
    Credential.objects.filter(endpoint=endpoint).delete()


def is_stored(endpoint: Endpoint) -> bool:
    return Credential.objects.filter(endpoint=endpoint).exists()


def holds(credential: Credential, key: Secret) -> bool:
    """Is this the key that is stored? One that no longer opens is not."""
    place = _bound_to(credential.endpoint_id, credential.origin)
    try:
        return encryption.decrypt_secret(bytes(credential.sealed), place) == key
    except Refused:
        return False


def reveal(endpoint: Endpoint) -> Secret | None:
    """The endpoint's key, or None where none is stored; refuses what does not fit its origin."""
    credential = Credential.objects.filter(endpoint=endpoint).first()
    if credential is None:
        return None
    if credential.origin != origin(endpoint.base_url):
        raise Refused(_("The stored key belongs to another host; enter the key again."))
    return encryption.decrypt_secret(
        bytes(credential.sealed), _bound_to(endpoint.pk, credential.origin)
    )


def _bound_to(endpoint_id: int, place: str) -> bytes:
    return f"{endpoint_id} {place}".encode()
