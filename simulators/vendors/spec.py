"""The data that distinguishes one vendor from another, and a request to a vendor's model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from probes.adapters import FORMATS
from probes.messages import JSON, Extra, ModelCall
from simulators.vendors.error_envelopes import RequestRefused
from simulators.vendors.model_traits import Model
from simulators.vendors.reply_style import ReplyStyle
from simulators.vendors.vendor_auth import Auth

Envelope: TypeAlias = Callable[[RequestRefused, str], dict[str, JSON]]
ExtraFields: TypeAlias = Callable[[Mapping[str, JSON], bool], Extra]
Endpoint: TypeAlias = "Callable[[Spec, Mapping[str, JSON]], dict[str, JSON]]"
Rule: TypeAlias = "Callable[[VendorRequest], None]"

CHOICES = ("auto", "none", "required", "named")
# What can happen to an image, from the best.
IMAGE_USES = ("used", "unused", "refused")
TEMPLATE = (
    "{%- for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}"
    "<|im_end|>\n{%- endfor %}<|im_start|>assistant\n"
)


@dataclass(frozen=True, slots=True)
class Spec:
    """Everything in which a vendor differs from the others."""

    name: str
    title: str
    mount: str
    provider: str  # as an operator would register it
    style: ReplyStyle
    models: Mapping[str, Model]
    envelope: Envelope
    rule: Rule | None
    thinking_switch: Callable[[Mapping[str, JSON]], bool | None]
    unknown_model: RequestRefused
    auth: Auth | None = None
    prefix: str = ""
    malformed: str = "{detail}"
    extra_fields: ExtraFields = lambda body, streamed: {}
    # Whether an answer reports usage.
    reports_usage: Callable[[Mapping[str, JSON], bool], bool] = lambda body, streamed: True
    caches_prompts: bool = False  # all of a prompt but one token is reported as cached
    request_id: str = "x-request-id"
    server: str = "simulated-vendor"
    error_type: str = "application/json"
    any_model: bool = False
    # Metadata endpoints by method and path.
    endpoints: Mapping[tuple[str, str], Endpoint] = field(default_factory=dict)
    # Values of tool_choice that the vendor accepts and obeys, in general and while it thinks.
    choices: tuple[str, ...] = CHOICES
    thinking_choices: tuple[str, ...] | None = None
    template: str = TEMPLATE
    engine: str = ""  # the version that the server reports
    echo: str = ""  # the model named in answers; the requested one if empty
    faults: str = ""  # switches that are always on
    own_parameters: frozenset[str] = frozenset()  # fields of requests beyond those of the format
    system_position: str = "anywhere"  # where the vendor accepts and obeys system messages
    # What happens to an image in a tool result, and in a user message.
    images: tuple[str, str] = ("used", "used")

    @property
    def format(self) -> str:
        return self.style.format

    @property
    def path(self) -> str:
        """The path of model requests below the mount."""
        return self.prefix + FORMATS[self.format].path

    @property
    def stream_path(self) -> str:
        return self.prefix + FORMATS[self.format].stream_path.partition("?")[0]

    @property
    def image_result(self) -> str:
        """The capability: where an image is used, or what happens to it in a result."""
        in_result, in_user_turn = self.images
        can_move = in_result != "used" and in_user_turn == "used"
        return "used_in_user_turn" if can_move else in_result

    def limit_images(self, in_result: str, in_user_turn: str) -> Spec:
        """The vendor with limits for images; its own can be narrower."""
        pairs = zip(self.images, (in_result, in_user_turn), strict=True)
        first, second = (max(pair, key=IMAGE_USES.index) for pair in pairs)
        return replace(self, images=(first, second))

    def find_model(self, name: str) -> Model:
        """The model of that name; raises RequestRefused if there is none."""
        model = self.models.get(name) or self.models.get(f"{name}:latest")
        if model is None and self.any_model:
            model = next(iter(self.models.values()))
        if model is None:
            unknown = self.unknown_model
            text = unknown.message.replace("{model}", name)
            raise RequestRefused(
                text, status=unknown.status, param=unknown.param, code=unknown.code
            )
        return model


@dataclass(frozen=True, slots=True)
class VendorRequest:
    """A request to the model: as sent, as parsed, and the model it names."""

    body: Mapping[str, JSON]
    headers: Mapping[str, str]
    call: ModelCall
    model: Model
    thinks: bool

    @property
    def forces(self) -> bool:
        """Whether the model must call a tool."""
        choice = self.call.tool_choice
        return choice is not None and choice.mode in ("required", "named")
