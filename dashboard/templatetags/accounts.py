"""The sign-in status of a person, for their page."""

from __future__ import annotations

from typing import Any

from django import template
from django.contrib.auth.models import User

from dashboard.accounts import login_throttle
from dashboard.core import account_requirements

register = template.Library()


@register.simple_tag
def sign_in_status(person: User) -> dict[str, Any]:
    return {
        "has_second_factor": account_requirements.has_second_factor(person),
        "throttled_until": login_throttle.throttled_until(person.username),
    }
