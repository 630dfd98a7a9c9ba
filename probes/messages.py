"""The values that every wire format is read into and written from. Frozen; equal content is equal.

A field called `extra` keeps what one format says and the others cannot: unknown wire fields, under
the name of the format they came in (`{"anthropic": {"cache_control": {...}}}`). Writing the same
format puts it back; writing another reports it as a loss (`probes/losses.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

JSON: TypeAlias = "Mapping[str, JSON] | Sequence[JSON] | str | int | float | bool | None"
Extra: TypeAlias = Mapping[str, JSON]


class Role(StrEnum):
    """The author of a turn. A system turn can be anywhere; results are in tool turns."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class Stop(StrEnum):
    """Why the model stopped, normalised; the vendor's word is in `Reply.stop_raw`."""

    END = "end"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    REFUSAL = "refusal"
    MALFORMED_CALL = "malformed_call"  # the endpoint says that its own model's call was broken
    PAUSE = "pause"
    ERROR = "error"  # an error inside the answer, or a stream that broke off
    OTHER = "other"


class Breakage(StrEnum):
    """Why a call is not executable; every value is also a `FindingKind`."""

    INVALID_JSON = "invalid_json"
    NOT_AN_OBJECT = "not_an_object"
    TRUNCATED_CALL = "truncated_call"
    UNKNOWN_TOOL = "unknown_tool"
    SCHEMA_MISMATCH = "schema_mismatch"
    RESIDUAL_MARKUP = "residual_markup"
    TOO_LARGE = "too_large"


class Location(StrEnum):
    """Where in an answer a call was found."""

    CONTENT = "content"
    REASONING = "reasoning"


class ReasoningKind(StrEnum):
    """The form in which a vendor sent its reasoning, which is the only form it accepts back."""

    FIELD = "field"  # a string beside the content: reasoning_content, reasoning, thinking
    DETAILS = "details"  # the reasoning_details array
    BLOCK = "block"  # Anthropic's thinking and redacted_thinking blocks, signature included
    ITEM = "item"  # a reasoning item of the Responses API
    THOUGHT = "thought"  # a Gemini part with thought: true
    TAGS = "tags"  # between think tags in the content


@dataclass(frozen=True, slots=True)
class ClientTool:
    """How a client declared a tool that is more than a function with a name.

    Here the names of a namespace are part of the tool's name, and free text is the argument
    `input`. The format that it was declared in writes it as it was declared.
    """

    format: str
    name: str
    namespace: str = ""
    custom: bool = False  # takes free text instead of arguments


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as offered to the model. `schema` None: declared without parameters."""

    name: str
    description: str
    schema: Mapping[str, JSON] | None
    strict: bool | None = None
    extra: Extra = field(default_factory=dict)
    client_tool: ClientTool | None = None


@dataclass(frozen=True, slots=True)
class VendorTool:
    """A tool that one format defines: run by the vendor, or known to its models by its type.

    `kind` is the type, `position` its place in the client's list of tools.
    """

    name: str
    kind: str
    format: str
    raw: Mapping[str, JSON]
    position: int = 0


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that was read completely; `raw` is its argument text as received.

    `format` is the wire format, or the text parser that found the call. `repairs` names every
    change that reading it needed, in order; empty means that it was valid as received.
    """

    id: str
    name: str
    input: Mapping[str, JSON]
    format: str
    raw: str
    repairs: tuple[str, ...] = ()
    location: Location = Location.CONTENT
    extra: Extra = field(default_factory=dict)
    client_tool: ClientTool | None = None


@dataclass(frozen=True, slots=True)
class BrokenCall:
    """A call that must not be executed, and why."""

    raw: str
    error: str
    kind: Breakage = Breakage.INVALID_JSON
    name: str = ""
    id: str = ""
    path: str = ""
    format: str = ""
    location: Location = Location.CONTENT
    retryable: bool = True

    def as_error(self) -> dict[str, JSON]:
        """The structured error that is fed back to the model."""
        return {
            "is_error": True,
            "error_code": str(self.kind),
            "message": self.error,
            "path": self.path,
            "retryable": self.retryable,
        }


@dataclass(frozen=True, slots=True)
class Text:
    """Visible text, verbatim."""

    text: str
    extra: Extra = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Image:
    """A picture: its data in base64 with the media type, or its address."""

    media_type: str = ""
    data: str = ""
    url: str = ""
    extra: Extra = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a call.

    `blocks` keeps content of more than one text, verbatim. `parts` are its texts and pictures in
    order, if it has pictures.
    """

    call_id: str
    content: str
    is_error: bool = False
    name: str = ""
    blocks: tuple[JSON, ...] = ()
    extra: Extra = field(default_factory=dict)
    parts: tuple[Text | Image, ...] = ()

    @property
    def images(self) -> tuple[Image, ...]:
        return tuple(part for part in self.parts if isinstance(part, Image))


@dataclass(frozen=True, slots=True)
class Reasoning:
    """Reasoning exactly as received.

    `text` is for people and may be empty; `raw` is sent back: the field's name for FIELD, the array
    for DETAILS, the whole block, item or part for the others.
    """

    text: str
    kind: ReasoningKind
    raw: JSON


@dataclass(frozen=True, slots=True)
class Opaque:
    """A block that is not interpreted (document, server tool), kept for its own format."""

    format: str
    raw: JSON


Part: TypeAlias = Text | Image | Reasoning | ToolCall | BrokenCall | ToolResult | Opaque


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation, its parts in order.

    `origin` names the producer of an assistant turn (a profile key's digest, or any name that the
    caller chooses): signatures and ids of another origin are foreign. "" is unknown.
    """

    role: Role
    parts: tuple[Part, ...]
    origin: str = ""
    extra: Extra = field(default_factory=dict)

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    @property
    def results(self) -> tuple[ToolResult, ...]:
        return tuple(part for part in self.parts if isinstance(part, ToolResult))


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """Which tools the model may or must call."""

    mode: str  # auto, none, required, named
    name: str = ""  # the one tool of `named`
    names: tuple[str, ...] = ()  # of auto and required: no other tools


AUTO = ToolChoice("auto")
NONE = ToolChoice("none")
REQUIRED = ToolChoice("required")


class ThinkingMode(StrEnum):
    """Whether the model thinks before it answers."""

    OFF = "off"
    ON = "on"
    ADAPTIVE = "adaptive"  # the model decides


@dataclass(frozen=True, slots=True)
class Thinking:
    """How much the model thinks: an effort in OpenAI's words, or a budget in tokens."""

    mode: ThinkingMode
    effort: str = ""
    budget: int | None = None


@dataclass(frozen=True, slots=True)
class JSONOutput:
    """An answer in JSON; `schema` None: any object."""

    schema: Mapping[str, JSON] | None = None
    name: str = ""
    strict: bool | None = None
    description: str = ""


@dataclass(frozen=True, slots=True)
class Generation:
    """How the answer is generated, and for whom; None is the endpoint's default."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    seed: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    stop: tuple[str, ...] | None = None
    thinking: Thinking | None = None
    output: JSONOutput | None = None
    user: str | None = None
    session: str | None = None
    include_usage: bool | None = None  # in a stream; only Chat Completions makes it an option


DEFAULT_GENERATION = Generation()


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One request to a model, in no vendor's format.

    `options` are request fields of the target format, sent as they are. `extra` are the fields of
    the format that the request was read from: `generation` is what they say in all formats.
    """

    model: str
    turns: tuple[Turn, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int | None = 1024
    tool_choice: ToolChoice | None = None
    parallel: bool | None = None
    stream: bool = False
    options: Mapping[str, JSON] = field(default_factory=dict)
    extra: Extra = field(default_factory=dict)
    generation: Generation = DEFAULT_GENERATION
    vendor_tools: tuple[VendorTool, ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as counted by the endpoint, in the same sense for every format; None if not reported.

    `input_tokens` is the whole prompt, cached or not; `cached_tokens` is the part of it that was
    read from a cache.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None

    def as_json(self) -> dict[str, JSON]:
        return {"input_tokens": self.input_tokens, "output_tokens": self.output_tokens}


@dataclass(frozen=True, slots=True)
class Deviation:
    """A place where the answer violates its format but could still be read."""

    name: str
    path: str


class ErrorKind(StrEnum):
    """What an error inside an answer means to a client: retry, wait, shorten, or give up."""

    OVERLOADED = "overloaded"
    RATE_LIMIT = "rate_limit"
    TIMEOUT = "timeout"
    SERVER = "server"
    CONTEXT_OVERFLOW = "context_overflow"
    INVALID_REQUEST = "invalid_request"
    AUTHENTICATION = "authentication"
    PERMISSION = "permission"
    QUOTA = "quota"
    NOT_FOUND = "not_found"


@dataclass(frozen=True, slots=True)
class ReplyError:
    """The error that ended an answer; `code` is the vendor's word, `retry_after` in seconds."""

    kind: ErrorKind
    message: str
    code: str = ""
    retry_after: float | None = None


# The deviation of a whole answer where a stream was requested.
NOT_STREAMED = "not_streamed"


@dataclass(frozen=True, slots=True)
class Reply:
    """The model's answer: its parts in the order received, and its metadata."""

    parts: tuple[Part, ...]
    stop: Stop
    usage: Usage = field(default_factory=Usage)
    id: str = ""
    model: str | None = None
    fingerprint: str | None = None
    stop_raw: str | None = None
    deviations: tuple[Deviation, ...] = ()
    extra: Extra = field(default_factory=dict)
    raw: Mapping[str, JSON] = field(default_factory=dict, compare=False)
    error: ReplyError | None = None  # None also for a stream that broke off without one

    @property
    def text(self) -> str | None:
        """The visible text, or None if there is none. "" and None differ."""
        texts = [part.text for part in self.parts if isinstance(part, Text)]
        return "".join(texts) if texts else None

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls that were read completely."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    @property
    def broken(self) -> tuple[BrokenCall, ...]:
        """The calls that could not be read."""
        return tuple(part for part in self.parts if isinstance(part, BrokenCall))

    @property
    def reasoning(self) -> str | None:
        """The reasoning text, or None if there is none."""
        texts = [part.text for part in self.parts if isinstance(part, Reasoning)]
        return "".join(texts) if texts else None

    def as_turn(self, origin: str = "") -> Turn:
        """The answer as an assistant turn of the history."""
        return Turn(Role.ASSISTANT, self.parts, origin)
