"""The settings pages, in the order of their overview."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from django.urls import resolve, reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from dashboard.core.permissions import Actor, Right, declared_rights


@dataclass(frozen=True, slots=True)
class SettingsPage:
    url_name: str
    title: Promise
    sentence: Promise


@dataclass(frozen=True, slots=True)
class SettingsGroup:
    title: Promise
    pages: tuple[SettingsPage, ...]


SETTINGS_GROUPS = (
    SettingsGroup(
        _("Endpoints"),
        (
            SettingsPage(
                "endpoint-new",
                _("Add an endpoint"),
                _("Register a model behind a base URL, after trying it once."),
            ),
            SettingsPage(
                "import",
                _("Import"),
                _("Endpoints as a YAML file: what it would change, then apply it; or export one."),
            ),
            SettingsPage(
                "maintenance",
                _("Maintenance"),
                _("Spans of time in which trouble is expected and nobody is told."),
            ),
            SettingsPage(
                "tool-rules",
                _("Tools"),
                _("How risky each tool is, by the pattern of its name."),
            ),
            SettingsPage(
                "gates",
                _("Gates"),
                _("What must hold before anybody may ask for the next stage of an endpoint."),
            ),
        ),
    ),
    SettingsGroup(
        _("People and programs"),
        (
            SettingsPage("password", _("Password"), _("Change the password you sign in with.")),
            SettingsPage(
                "security",
                _("Second factor"),
                _("Codes of an app, passkeys and recovery codes, beside your password."),
            ),
            SettingsPage(
                "sessions",
                _("Sessions"),
                _("Where you are signed in, and ending that."),
            ),
            SettingsPage(
                "people",
                _("People"),
                _("Who may sign in and what they may do: invite somebody, give roles, end access."),
            ),
            SettingsPage(
                "teams",
                _("Teams"),
                _("Groups of endpoints, each seen and worked on only by its people."),
            ),
            SettingsPage(
                "tokens",
                _("API tokens"),
                _("What programs show to use the API, each revocable alone."),
            ),
            SettingsPage(
                "channels",
                _("Channels"),
                _("Where notices go when an endpoint degrades or recovers, with a test."),
            ),
        ),
    ),
    SettingsGroup(
        _("This installation"),
        (
            SettingsPage(
                "system",
                _("System"),
                _("Whether workers, schedule, broker and database do what they should."),
            ),
            SettingsPage(
                "retention",
                _("Retention"),
                _("What is kept for how long, what it takes up, and what is dropped next."),
            ),
            SettingsPage(
                "demo",
                _("Simulated fleet"),
                _("Endpoints that are played on this machine: start them, or remove them all."),
            ),
        ),
    ),
)


def settings_tabs(actor: Actor) -> list[SettingsPage]:
    """The pages below /settings/ that the actor may open, in one row."""
    groups = visible_groups(actor)
    return [page for group in groups for page in group.pages if page.url_name != "endpoint-new"]


def visible_groups(actor: Actor) -> list[SettingsGroup]:
    """The groups with the pages that the actor may open, without empty groups."""
    groups = [
        SettingsGroup(group.title, tuple(page for page in group.pages if _is_open(page, actor)))
        for group in SETTINGS_GROUPS
    ]
    return [group for group in groups if group.pages]


def _is_open(page: SettingsPage, actor: Actor) -> bool:
    right = page_right(page.url_name)
    return right is None or actor.may_somewhere(right)


@cache
def page_right(url_name: str) -> Right | None:
    """The right that a page's view declares; None if every signed-in person may open it."""
    declared = declared_rights(resolve(reverse(url_name)).func)
    assert declared is not None, url_name
    return declared.safe
