"""Pictures in messages and results, as far as the formats share them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from probes.messages import Extra, Image, Part, Role, Text, ToolResult, Turn

FOLLOWS = "The picture of this result is in the next message."
# How the base64 of a picture begins.
SIGNATURES = {
    "iVBORw0KGgo": "image/png",
    "/9j/": "image/jpeg",
    "R0lGOD": "image/gif",
    "UklGR": "image/webp",
}
UNKNOWN_TYPE = "application/octet-stream"


def read_image_url(url: str, extra: Extra) -> Image:
    """The picture at an address, which may contain the picture itself."""
    head, is_data, data = url.partition(";base64,")
    if is_data and head.startswith("data:"):
        return Image(head.removeprefix("data:"), data, extra=extra)
    return Image(url=url, extra=extra)


def write_image_url(image: Image) -> str:
    """The address of a picture, or the picture as an address."""
    return image.url or f"data:{image.media_type};base64,{image.data}"


def media_type_of(data: str) -> str:
    """The media type of a picture in base64, for a format that does not name it."""
    return next(
        (kind for start, kind in SIGNATURES.items() if data.startswith(start)), UNKNOWN_TYPE
    )


def typed_parts(parts: Sequence[Part]) -> tuple[Text | Image, ...]:
    """The texts and pictures of a result; empty without pictures."""
    if not any(isinstance(part, Image) for part in parts):
        return ()
    return tuple(part for part in parts if isinstance(part, Text | Image))


def move_result_images(
    turns: Sequence[Turn], keeps: Callable[[ToolResult], bool] = lambda _: False
) -> list[Turn]:
    """The turns with the pictures of results in a user turn right after the results.

    For formats whose results are text. Results that the format `keeps` as they are stay so.
    """
    parts = (part for turn in turns for part in turn.parts)
    if not any(isinstance(part, ToolResult) and part.parts for part in parts):
        return [*turns]
    moved: list[Turn] = []
    waiting: list[Part] = []
    for turn in turns:
        if waiting and turn.role is not Role.TOOL:
            if turn.role is Role.USER:
                turn = replace(turn, parts=(*waiting, *turn.parts))  # noqa: PLW2901
            else:
                moved.append(Turn(Role.USER, tuple(waiting)))
            waiting = []
        results = [part for part in turn.results if part.images and not keeps(part)]
        waiting += [part for result in results for part in _shown(result)]
        moved.append(_without_images(turn, results) if results else turn)
    return [*moved, Turn(Role.USER, tuple(waiting))] if waiting else moved


def _shown(result: ToolResult) -> Iterator[Part]:
    yield Text(f"Picture in the result of {result.call_id}:")
    yield from result.images


def _without_images(turn: Turn, results: list[ToolResult]) -> Turn:
    bare = [
        replace(part, content=part.content or FOLLOWS, blocks=(), parts=())
        if part in results
        else part
        for part in turn.parts
        if isinstance(part, ToolResult)
    ]
    others = [part for part in turn.parts if not isinstance(part, ToolResult)]
    return replace(turn, parts=(*bare, *others))
