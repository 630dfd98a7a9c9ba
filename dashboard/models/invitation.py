"""Links by which a person chooses their own password, so that nobody else ever knows it."""

from __future__ import annotations

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from typing_extensions import override

_OPEN = Q(used_at=None, revoked_at=None)


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def open(self) -> Self:
        """Those that nobody used or took back; the person has no password until then."""
        return self.filter(_OPEN)

    def living(self) -> Self:
        """Those that still open something, by the database's clock."""
        return self.open().filter(expires_at__gt=Now(), person__is_active=True)


class Invitation(models.Model):
    """A link that works once. Only the hash of its text is kept."""

    person = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="invitations")
    digest = models.BinaryField(max_length=32, unique=True)  # sha256 of the text
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="invitations_made"
    )
    created_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    objects = InvitationQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["person"], condition=_OPEN, name="invitation_one_open_each"
            ),
        ]

    @override
    def __str__(self) -> str:
        return f"invitation {self.pk}"


class DrawnPassword(models.Model):
    """A person whose password a machine drew and printed: they choose another one first."""

    person = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="drawn_password"
    )
    # The hash it was stored with. Whatever way a password is changed, this one is then another's.
    stored = models.CharField(max_length=128)

    @override
    def __str__(self) -> str:
        return f"drawn password of person {self.pk}"
