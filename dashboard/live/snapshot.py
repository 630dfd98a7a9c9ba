"""Everything that the gateway needs to serve, read in one go: endpoints, policies and tokens.

The gateway keeps a snapshot in memory and reads no row while it answers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from dashboard.core import token_rights
from dashboard.core.sql import execute, fetch_row
from dashboard.models import ApiToken, Credential, Endpoint, Policy, Profile
from dashboard.models.people import Scope
from dashboard.runs.credentials import encryption_context


@dataclass(frozen=True, slots=True)
class SealedKey:
    """An encrypted API key, the origin that it may be sent to, and what it is bound to."""

    sealed: bytes
    origin: str
    bound_to: bytes


@dataclass(frozen=True, slots=True)
class LiveEndpoint:
    """An endpoint as live traffic reaches it: the target, policy and profile in force."""

    id: int
    slug: str
    team_id: int | None
    profile_id: int
    epoch: int
    provider: str
    url: str
    model: str
    dialect: str
    options: Mapping[str, Any]
    capabilities: Mapping[str, Any]
    policy_version: int
    policy: Mapping[str, Any]
    key: SealedKey | None


@dataclass(frozen=True, slots=True)
class LiveToken:
    """A token with the scope `gateway`, and the teams whose endpoints it may use."""

    id: int
    prefix: str
    digest: bytes
    teams: frozenset[int] | None  # None: all endpoints
    expires_at: datetime | None

    def may_use(self, endpoint: LiveEndpoint) -> bool:
        return self.teams is None or endpoint.team_id in self.teams


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The state of one moment, by the database's clock."""

    read_at: datetime
    mark: str  # as `read_mark` returned it
    endpoints: Mapping[str, LiveEndpoint]
    tokens: Mapping[str, LiveToken]  # by prefix


def snapshot_to_json(snapshot: Snapshot) -> str:
    """The snapshot as text, for a sealed copy; `snapshot_from_json` reads it."""
    return json.dumps(asdict(snapshot), default=_to_json)


def snapshot_from_json(text: str) -> Snapshot:
    data = json.loads(text)
    return Snapshot(
        datetime.fromisoformat(data["read_at"]),
        data["mark"],
        {slug: _endpoint_from_json(each) for slug, each in data["endpoints"].items()},
        {prefix: _token_from_json(each) for prefix, each in data["tokens"].items()},
    )


def read_mark() -> str:
    """A text that changes with every change of what a snapshot holds."""
    row = fetch_row(_MARK)
    assert row
    return str(row[0])


@transaction.atomic
def read_snapshot() -> Snapshot:
    """Read the snapshot from one consistent view of the database."""
    execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    row = fetch_row("SELECT statement_timestamp()")
    assert row
    return Snapshot(row[0], read_mark(), _read_endpoints(), _read_tokens())


def _read_endpoints() -> dict[str, LiveEndpoint]:
    keys = {credential.endpoint_id: credential for credential in Credential.objects.all()}
    policies = {policy.endpoint_id: policy for policy in Policy.objects.all()}
    profiles = Profile.objects.filter(in_force=True, endpoint__in=Endpoint.objects.kept())
    return {
        profile.endpoint.slug: _live_endpoint(profile, policies[profile.endpoint_id], keys)
        for profile in profiles.select_related("endpoint")
        if profile.endpoint_id in policies
    }


def _live_endpoint(
    profile: Profile, policy: Policy, keys: Mapping[int, Credential]
) -> LiveEndpoint:
    endpoint = profile.endpoint
    return LiveEndpoint(
        endpoint.pk,
        endpoint.slug,
        endpoint.team_id,
        profile.pk,
        profile.epoch,
        profile.provider,
        profile.endpoint_url,
        profile.model,
        profile.dialect,
        endpoint.options,
        profile.capabilities,
        policy.version,
        policy.body,
        _sealed_key(keys.get(endpoint.pk)),
    )


def _sealed_key(credential: Credential | None) -> SealedKey | None:
    if credential is None:
        return None
    bound_to = encryption_context(credential.endpoint_id, credential.origin)
    return SealedKey(bytes(credential.sealed), credential.origin, bound_to)


def _read_tokens() -> dict[str, LiveToken]:
    tokens = ApiToken.objects.filter(revoked_at=None, scopes__contains=[Scope.GATEWAY])
    return {
        token.prefix: LiveToken(
            token.pk,
            token.prefix,
            bytes(token.digest),
            token_rights.gateway_teams(token),
            token.expires_at,
        )
        for token in tokens.select_related("created_by", "team")
        if token.created_by is None or token.created_by.is_active
    }


def _to_json(value: object) -> object:
    match value:
        case bytes():
            return value.hex()
        case datetime():
            return value.isoformat()
        case frozenset():
            return sorted(value)
        case _:
            raise TypeError(f"A snapshot holds no {type(value).__name__}.")


def _endpoint_from_json(data: dict[str, Any]) -> LiveEndpoint:
    key = data.pop("key")
    return LiveEndpoint(**data, key=_key_from_json(key) if key else None)


def _key_from_json(data: dict[str, str]) -> SealedKey:
    sealed, bound_to = bytes.fromhex(data["sealed"]), bytes.fromhex(data["bound_to"])
    return SealedKey(sealed, data["origin"], bound_to)


def _token_from_json(data: dict[str, Any]) -> LiveToken:
    expires = data["expires_at"]
    return LiveToken(
        data["id"],
        data["prefix"],
        bytes.fromhex(data["digest"]),
        None if data["teams"] is None else frozenset(data["teams"]),
        datetime.fromisoformat(expires) if expires else None,
    )


# Rows that are deleted change a count, the others a time or a version.
_MARK = """
SELECT md5(concat_ws('/',
    (SELECT concat(count(*), ' ', max(version)) FROM dashboard_policy),
    (SELECT concat(count(*), ' ', max(updated_at)) FROM dashboard_endpoint
        WHERE removed_at IS NULL),
    (SELECT string_agg(concat(id, ' ', verified_at), ',' ORDER BY id) FROM dashboard_profile
        WHERE in_force),
    (SELECT concat(count(*), ' ', max(created_at)) FROM dashboard_credential),
    (SELECT string_agg(concat(t.id, ' ', t.expires_at, ' ', u.is_active), ',' ORDER BY t.id)
        FROM dashboard_apitoken t LEFT JOIN auth_user u ON u.id = t.created_by_id
        WHERE t.revoked_at IS NULL AND t.scopes @> '["gateway"]'),
    (SELECT concat(count(*), ' ', max(id)) FROM dashboard_grant)))
"""
