"""What browser somebody uses, as far as it says so: enough to tell one's own from a stranger's."""

from __future__ import annotations

# In this order: most browsers also name those that they descend from.
_FAMILIES = (
    ("Edg/", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("HeadlessChrome/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("CriOS/", "Chrome"),
    ("Safari/", "Safari"),
    ("curl/", "curl"),
)
_SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
)


def name(user_agent: str) -> str:
    """Such as “Firefox, Linux”; empty where it is none that we know."""
    found = (_first(_FAMILIES, user_agent), _first(_SYSTEMS, user_agent))
    return ", ".join(each for each in found if each)


def _first(known: tuple[tuple[str, str], ...], text: str) -> str:
    return next((name for mark, name in known if mark in text), "")
