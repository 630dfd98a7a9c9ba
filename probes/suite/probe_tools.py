"""The tools that probes offer. None has a side effect; every schema is closed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from probes.messages import JSON, ToolSpec

TAGS = ("alpha", "beta")
LEVELS = ("low", "middle", "high")
UNITS = ("celsius", "kelvin")
# A code of two capital letters and four digits.
CODE_PATTERN = "^[A-Z]{2}-[0-9]{4}$"
SAFE = "/safe/"


def _object(**properties: JSON) -> dict[str, JSON]:
    # Every property required and no others allowed, as strict modes demand.
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _tool(name: str, description: str, /, **properties: JSON) -> ToolSpec:
    return ToolSpec(name, f"{description} Has no side effects.", _object(**properties))


def _described(type_: str | Sequence[str], text: str, **more: JSON) -> Mapping[str, JSON]:
    kind: JSON = type_ if isinstance(type_, str) else list(type_)
    return {"type": kind, "description": text, **more}


PROBE_ECHO = _tool(
    "probe_echo",
    "Echoes a message back under a tag.",
    message=_described("string", "The text to echo, exactly as given."),
    tag=_described("string", "The label of the echo.", enum=list(TAGS)),
)
PROBE_ADD = _tool(
    "probe_add",
    "Adds two whole numbers.",
    a=_described("integer", "The first number."),
    b=_described("integer", "The second number."),
)
PROBE_FAIL_ONCE = _tool(
    "probe_fail_once",
    "Looks up a path. May answer with an error that says what is wrong with the path.",
    path=_described("string", "The path to look up."),
)
PROBE_NOW = _tool("probe_now", "Tells the probe's time. Takes no arguments.")
PROBE_SETTINGS = _tool(
    "probe_settings",
    "Checks a set of settings.",
    count=_described("integer", "How many.", minimum=1, maximum=1000),
    ratio=_described("number", "A share between 0 and 1."),
    enabled=_described("boolean", "Whether it is on."),
    level=_described("string", "How strong.", enum=list(LEVELS)),
    note=_described(("string", "null"), "A remark, or null."),
)
PROBE_ORDER = _tool(
    "probe_order",
    "Checks an order.",
    customer={
        **_object(
            name=_described("string", "Who orders."),
            member=_described("boolean", "Whether the customer is a member."),
        ),
        "description": "The customer.",
    },
    items={
        "type": "array",
        "description": "What is ordered.",
        "items": _object(
            sku=_described("string", "The article."),
            quantity=_described("integer", "How many."),
        ),
    },
)
PROBE_ORDER_LINE = _tool(
    "probe_order_line",
    "Checks one line of an order.",
    name=_described("string", "Who orders."),
    member=_described("boolean", "Whether the customer is a member."),
    sku=_described("string", "The article."),
    quantity=_described("integer", "How many."),
)
PROBE_STORE = _tool(
    "probe_store",
    "Checks a value under a key.",
    key=_described("string", "The key."),
    value={
        "description": "A whole number, a text or a list of texts.",
        "anyOf": [
            {"type": "integer"},
            {"type": "string"},
            {"type": "array", "items": {"type": "string"}},
        ],
    },
)
PROBE_READING = _tool(
    "probe_reading",
    "Checks one reading of a sensor.",
    sensor=_described("string", "Which sensor."),
    reading={
        **_object(
            value=_described("integer", "What it shows."),
            unit=_described("string", "The unit.", enum=list(UNITS)),
            level=_described("string", "How urgent it is.", enum=list(LEVELS)),
        ),
        "description": "The reading.",
    },
)
_STOP: JSON = {
    **_object(
        code=_described("string", "The code of the place.", pattern=CODE_PATTERN),
        hour=_described("integer", "The hour of the day."),
    ),
    "description": "A stop.",
}
PROBE_ROUTE = ToolSpec(
    "probe_route",
    "Checks a route between two stops. Has no side effects.",
    {
        **_object(start={"$ref": "#/$defs/stop"}, end={"$ref": "#/$defs/stop"}),
        "$defs": {"stop": _STOP},
    },
)
PROBE_LOCATE = _tool(
    "probe_locate",
    "Tells on which shelf an item is.",
    item=_described("string", "The item."),
)
PROBE_OPEN = _tool(
    "probe_open",
    "Tells which box is on a shelf.",
    shelf=_described("string", "The shelf, as probe_locate tells it."),
)
PROBE_READ = _tool(
    "probe_read",
    "Tells the code in a box.",
    box=_described("string", "The box, as probe_open tells it."),
)
PROBE_LOOK = _tool(
    "probe_look",
    "Shows a picture.",
    name=_described("string", "The name of the picture."),
)
PAPERS = ("invoice", "order", "quote", "receipt", "voucher")
ACTIONS = {"cancel": "Cancels", "close": "Closes", "copy": "Copies", "correct": "Corrects"}
SIMILAR_TOOLS = tuple(
    _tool(
        f"probe_{action}_{paper}",
        f"{does} {'an' if paper[0] in 'aeiou' else 'a'} {paper}.",
        reference=_described("string", f"The reference of the {paper}."),
        note=_described("string", "A remark on it."),
    )
    for paper in PAPERS
    for action, does in ACTIONS.items()
)
