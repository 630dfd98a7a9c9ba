"""API that receives observations of clients and gateways in batches, each stored once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from hashlib import sha256
from uuid import UUID, uuid5

from django.db.models.functions import Now
from django.http import HttpRequest
from ninja import Router

from dashboard.api import auth
from dashboard.api.errors import ApiError
from dashboard.core import token_rights
from dashboard.models import ApiToken, Endpoint, ObservationBatch, Profile
from dashboard.models.observation import Observation
from dashboard.runs import observations
from dashboard.runs.observations import LIVE
from dashboard.runs.telemetry_schemas import Batch, Event, Receipt, Rejected
from health.observation_bits import pack_verdicts
from probes.messages import Stop
from probes.outcomes import Metric, Verdict

router = Router(tags=["telemetry"])

MAX_AGE = timedelta(days=7)
MAX_CLOCK_SKEW = timedelta(minutes=5)
# Batch ids are namespaced by client: two clients may choose the same id.
_NAMESPACE = UUID("5f0dbd5d-6b21-4a1c-8d55-0b5d8a7c9e1f")
# The stored number of each reason. Append only: stored rows depend on it.
_END_REASONS = {stop: number for number, stop in enumerate(Stop)}


@router.post("", auth=auth.TELEMETRY, response=Receipt, summary="Send observations of live traffic")
def send_telemetry(request: HttpRequest, body: Batch) -> Receipt:
    """Events that cannot be placed are named in `rejected`, and the others are stored. The same
    batch again stores nothing and says `duplicate`, so a request that timed out can be repeated.
    The same `batch_id` with other events is refused (409): nothing is stored, nothing changes.
    """
    client = auth.request_token(request).pk
    batch = uuid5(_NAMESPACE, f"{client} {body.batch_id}")
    rows, rejected = _sort_events(body.events, auth.request_token(request))
    digest = sha256(body.model_dump_json(include={"events"}).encode()).digest()
    if observations.store_batch(rows, batch=batch, digest=digest):
        return Receipt(accepted=len(rows), duplicate=False, rejected=rejected)
    stored = ObservationBatch.objects.get(batch=batch)
    # Batches that were stored before digests existed have none.
    if stored.digest is not None and bytes(stored.digest) != digest:
        message = f"The batch {body.batch_id} was stored before with other events."
        raise ApiError(409, message, code="batch_reused")
    return Receipt(accepted=stored.rows, duplicate=True, rejected=rejected)


@dataclass(frozen=True, slots=True)
class _ProfileLookup:
    """The profiles of the endpoints in a batch, and the time of the database."""

    profiles: dict[str, Sequence[Profile]]
    now: datetime | None

    def find_profile(self, event: Event) -> Profile | str:
        """The profile of an event, or why the event is rejected."""
        profiles = self.profiles.get(event.endpoint)
        if not profiles or self.now is None:
            return f"There is no endpoint {event.endpoint!r}."
        if event.at < self.now - MAX_AGE:
            return "It is older than 7 days."
        if event.at > self.now + MAX_CLOCK_SKEW:
            return "It is more than 5 minutes in the future. Set the clock of the client."
        if event.epoch is None:
            return _current_at(profiles, event.at)
        matches = (profile for profile in profiles if profile.epoch == event.epoch)
        return next(matches, f"{event.endpoint!r} has no profile {event.epoch}.")


def _sort_events(
    events: Sequence[Event], token: ApiToken
) -> tuple[list[Observation], list[Rejected]]:
    teams = token_rights.telemetry_teams(token)
    lookup = _load_profiles({event.endpoint for event in events}, teams)
    rows, rejected = [], []
    for index, event in enumerate(events):
        profile = lookup.find_profile(event)
        if isinstance(profile, str):
            rejected.append(Rejected(index=index, message=profile))
        else:
            rows.append(_build_row(event, profile, token.pk))
    return rows, rejected


def _load_profiles(slugs: Iterable[str], teams: Collection[int] | None) -> _ProfileLookup:
    """Loads only endpoints of `teams`, so that a sender cannot detect other endpoints."""
    profiles: dict[str, list[Profile]] = {}
    now = None
    rows = (
        Profile.objects.filter(
            endpoint__in=Endpoint.objects.kept().of_teams(teams).filter(slug__in=slugs)
        )
        .select_related("endpoint")
        .only("epoch", "created_at", "endpoint__slug")
        .annotate(now=Now())
        .order_by("epoch")
    )
    for profile in rows:
        profiles.setdefault(profile.endpoint.slug, []).append(profile)
        now = profile.now
    return _ProfileLookup(dict(profiles), now)


def _current_at(profiles: Sequence[Profile], at: datetime) -> Profile:
    earlier = [profile for profile in profiles if profile.created_at <= at]
    return earlier[-1] if earlier else profiles[0]


def _build_row(event: Event, profile: Profile, client: int) -> Observation:
    return Observation(
        profile_id=profile.pk,
        key_epoch=profile.epoch,
        lane=LIVE,
        verdicts=_pack(tuple(event.verdicts.items())),
        event_at=event.at,
        client_id=client,
        policy_version=event.policy_version,
        latency_ms=event.latency_ms,
        first_byte_ms=event.first_byte_ms,
        input_tokens=event.input_tokens,
        output_tokens=event.output_tokens,
        http_status=event.http_status,
        end_reason=_END_REASONS[event.end_reason] if event.end_reason else None,
        request_id=event.request_id,
    )


@lru_cache(maxsize=4096)
def _pack(verdicts: tuple[tuple[Metric, bool], ...]) -> int:
    # One verdict per metric fits into one row; without verdicts the other figures still count.
    rows = pack_verdicts(Verdict(metric, good) for metric, good in verdicts)
    return rows[0] if rows else 0
