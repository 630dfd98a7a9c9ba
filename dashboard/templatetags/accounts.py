"""What the page of a person says about their signing in."""

from __future__ import annotations

from typing import Any

from django import template
from django.contrib.auth.models import User

from dashboard.accounts import login_throttle, second_factor

register = template.Library()


@register.simple_tag
def sign_in_of(person: User) -> dict[str, Any]:
    """Whether they have a second factor, and until when wrong tries make them wait."""
    return {
        "factors": second_factor.has_any(person),
        "waits_until": login_throttle.waits_until(person.username),
    }
