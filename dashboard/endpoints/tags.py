"""Tags of endpoints: a team, a region, a purpose."""

from __future__ import annotations

import re
from collections.abc import Iterable

from django.utils.translation import gettext as _

from dashboard.core.errors import Refused

MAX_TAGS, MAX_LENGTH = 20, 40
# A tag begins with a letter or digit, so that filters can use "-" for "no tag".
_TAG = re.compile(r"\w[\w.:/=-]*")


def check_tags(tags: Iterable[str]) -> list[str]:
    """The tags in lower case, sorted and unique. Refuses an invalid one."""
    cleaned = sorted({tag.strip().lower() for tag in tags} - {""})
    if len(cleaned) > MAX_TAGS:
        raise Refused(
            _("At most {most} tags: there are {count}.").format(most=MAX_TAGS, count=len(cleaned))
        )
    for tag in cleaned:
        if len(tag) > MAX_LENGTH or not _TAG.fullmatch(tag):
            raise Refused(
                _(
                    "“{tag}” cannot be a tag. Use letters, digits and . : / = _ - "
                    "in at most {longest} characters, without spaces."
                ).format(tag=tag[:MAX_LENGTH], longest=MAX_LENGTH)
            )
    return cleaned
