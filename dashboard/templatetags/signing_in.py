"""What the page of a person says about their signing in."""

from __future__ import annotations

from typing import Any

from django import template
from django.contrib.auth.models import User

from dashboard import guessing, second_factors

register = template.Library()


@register.simple_tag
def sign_in_of(person: User) -> dict[str, Any]:
    """Whether they have a second factor, and until when wrong tries make them wait."""
    return {
        "factors": second_factors.has_any(person),
        "waits_until": guessing.waits_until(person.username),
    }
