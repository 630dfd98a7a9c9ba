"""Reads a JSON body field by field: missing fields are reported with their path, others are kept.

Fields that a reader does not know are kept under the format's name. A key that begins with `$`
(`$message`, `$function`) holds the unknown fields of an inner object.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from probes.errors import WireError
from probes.messages import JSON, Deviation, Extra

MAX_COUNT = 2**31 - 1
MAX_NOTES = 100
# Marks a call or result that was received without an id, so that none is sent back.
MINTED = "minted_id"
MINTED_PREFIX = "minted"
_MINTED_ID = re.compile(rf"{MINTED_PREFIX}_[0-9a-f]{{24}}")
# The fields of blocks with files and pictures, which are not text.
DATA_FIELDS = frozenset(
    ["source", "image_url", "file", "file_id", "file_data", "input_audio", "inlineData", "fileData"]
)


@dataclass(slots=True)
class Notes:
    """The deviations of one body from its format, each recorded once; `seed` is for minted ids."""

    seed: str = ""
    noted: dict[Deviation, None] = field(default_factory=dict)

    def note(self, name: str, path: str) -> None:
        if len(self.noted) < MAX_NOTES:
            self.noted.setdefault(Deviation(name, path))

    @property
    def deviations(self) -> tuple[Deviation, ...]:
        return tuple(self.noted)


def require_object(value: JSON, path: str) -> Mapping[str, JSON]:
    """The object that the format requires here, or a WireError."""
    if not isinstance(value, Mapping):
        raise WireError("There is no object where the format wants one.", path)
    return value


def require_list(value: JSON, path: str, *, limit: int | None = None) -> Sequence[JSON]:
    """The list that the format requires here, or a WireError."""
    if not isinstance(value, list | tuple):
        raise WireError("There is no list where the format wants one.", path)
    if limit is not None and len(value) > limit:
        raise WireError(f"The list has more than {limit} entries.", path)
    return value


def require_text(entry: Mapping[str, JSON], name: str, path: str) -> str:
    """The text that the format requires in a field, or a WireError."""
    value = entry.get(name)
    if not isinstance(value, str):
        raise WireError("There is no text where the format wants one.", f"{path}.{name}")
    return value


def text_or_none(value: JSON) -> str | None:
    """The text, or None for any other value."""
    return value if isinstance(value, str) else None


def text_or_empty(value: JSON) -> str:
    """The text, or "" for any other value."""
    return value if isinstance(value, str) else ""


def object_or_empty(value: JSON) -> Mapping[str, JSON]:
    """The object, or an empty one for any other value."""
    return value if isinstance(value, Mapping) else {}


def list_or_empty(value: JSON) -> list[JSON]:
    """The list, or an empty one for any other value."""
    return value if isinstance(value, list) else []


def count_or_none(value: JSON) -> int | None:
    """A number of tokens, or None for any other value."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= MAX_COUNT else None


def copy_object(entry: Mapping[str, JSON], name: str) -> dict[str, JSON]:
    """A copy of the object in a field; empty if there is none."""
    return dict(object_or_empty(entry.get(name)))


def unread_fields(entry: Mapping[str, JSON], *known: str) -> dict[str, JSON]:
    """The fields of an object that are not read elsewhere."""
    return {name: value for name, value in entry.items() if name not in known}


def keep_extra(format: str, fields: Mapping[str, JSON]) -> Extra:
    """Unread fields as the `extra` of a value."""
    return {format: fields} if fields else {}


def own_fields(extra: Extra, format: str) -> dict[str, JSON]:
    """The fields that an `extra` keeps for one format."""
    return copy_object(extra, format)


def join_levels(outer: Mapping[str, JSON], **inner: JSON) -> dict[str, JSON]:
    """Unread fields of one level with those of inner levels, if any."""
    return {**outer, **{f"${name}": value for name, value in inner.items() if value}}


def own_outer_fields(extra: Extra, format: str) -> dict[str, JSON]:
    """The fields that an `extra` keeps for one format, without inner levels."""
    return {
        name: value for name, value in own_fields(extra, format).items() if not name.startswith("$")
    }


def own_inner_fields(extra: Extra, format: str, level: str) -> dict[str, JSON]:
    """The fields that an `extra` keeps for one inner level of one format."""
    return copy_object(object_or_empty(extra.get(format)), f"${level}")


def fields_with_values(**fields: JSON) -> dict[str, JSON]:
    """The fields that have a value."""
    return {name: value for name, value in fields.items() if value is not None}


def argument_text(value: JSON) -> str:
    """The argument text of a call whose format sends an object."""
    return json.dumps(value, ensure_ascii=False)


def mint_id(*seeds: str, prefix: str = "call") -> str:
    """A deterministic id for a call or result without one."""
    data = "\n".join(seeds).encode("utf-8", "surrogatepass")
    return f"{prefix}_{hashlib.sha256(data).hexdigest()[:24]}"


def mint_call_id(seed: str, *seeds: str) -> str:
    """An id for a call without one; with a seed of the reply, unique in the conversation.

    Such an id can be told from a vendor's, so that it is not sent to a vendor who sent none.
    """
    return mint_id(seed, *seeds, prefix=MINTED_PREFIX) if seed else mint_id(*seeds)


def is_minted_id(id: str) -> bool:
    """Whether an id was minted for a client, and was never the endpoint's."""
    return _MINTED_ID.fullmatch(id) is not None


def result_text(content: JSON) -> str:
    """The text of a result; a value that is no text is written as JSON."""
    if content is None or isinstance(content, str):
        return content or ""
    return argument_text(content)


def blocks_text(blocks: Iterable[JSON], separator: str) -> str:
    """The text of a result's blocks; those that are no text as JSON, those with data left out."""
    texts = [_block_text(block) for block in blocks]
    return separator.join(text for text in texts if text is not None)


def _block_text(block: JSON) -> str | None:
    fields = object_or_empty(block)
    if isinstance(text := fields.get("text"), str):
        return text
    has_data = any(name in fields for name in DATA_FIELDS)
    return None if has_data else result_text(block)
