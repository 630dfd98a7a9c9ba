"""Words that people sort endpoints by: a team, a region, a purpose."""

from __future__ import annotations

import re
from collections.abc import Iterable

from django.utils.translation import gettext as _

from dashboard.core.errors import Refused

MOST, LONGEST = 20, 40
# It begins with a letter or digit, so that "-" is free to stand for "none".
_TAG = re.compile(r"\w[\w.:/=-]*")


def check_tags(tags: Iterable[str]) -> list[str]:
    """The tags in lower case, each once, in order. Refuses what cannot be one."""
    cleaned = sorted({tag.strip().lower() for tag in tags} - {""})
    if len(cleaned) > MOST:
        raise Refused(
            _("At most {most} tags: there are {count}.").format(most=MOST, count=len(cleaned))
        )
    for tag in cleaned:
        if len(tag) > LONGEST or not _TAG.fullmatch(tag):
            raise Refused(
                _(
                    "“{tag}” cannot be a tag. Use letters, digits and . : / = _ - "
                    "in at most {longest} characters, without spaces."
                ).format(tag=tag[:LONGEST], longest=LONGEST)
            )
    return cleaned
