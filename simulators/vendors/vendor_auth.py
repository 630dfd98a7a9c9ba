"""How a vendor expects its API key, and its errors for a missing or wrong one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from simulators.vendors.error_envelopes import RequestRefused

KEY_PREFIX = "sim-"


@dataclass(frozen=True, slots=True)
class Auth:
    """Any key of the form `sim-…` is valid. `{key}` in a message is replaced by the masked key."""

    header: str = ""  # the header with the bare key; empty for a bearer token
    query: str = ""
    or_bearer: bool = False  # also accepts a bearer token
    missing: str = "You didn't provide an API key."
    wrong: str = "Incorrect API key provided: {key}."
    missing_status: int = 401
    wrong_status: int = 401
    code: str | None = None

    def check(self, headers: Mapping[str, str], query: Mapping[str, str]) -> None:
        """Raise RequestRefused unless the request carries a valid key."""
        key = self._read_key(headers) or (query.get(self.query, "") if self.query else "")
        if not key:
            raise RequestRefused(self.missing, status=self.missing_status)
        if not key.startswith(KEY_PREFIX) or len(key) == len(KEY_PREFIX):
            masked = f"{key[:3]}***{key[-4:]}" if len(key) > 12 else "***"
            text = self.wrong.replace("{key}", masked)
            raise RequestRefused(text, status=self.wrong_status, code=self.code)

    def _read_key(self, headers: Mapping[str, str]) -> str:
        value = headers.get(self.header, "") if self.header else ""
        if value or (self.header and not self.or_bearer):
            return value
        scheme, _, key = headers.get("authorization", "").partition(" ")
        return key if scheme.lower() == "bearer" else ""


OPENAI = Auth(code="invalid_api_key")
DEEPSEEK = Auth(
    missing="Authentication Fails (auth header format should be Bearer sk-...)",
    wrong="Authentication Fails, Your api key: {key} is invalid",
)
ANTHROPIC = Auth(
    header="x-api-key",
    or_bearer=True,
    missing="x-api-key header is required",
    wrong="invalid x-api-key",
)
GEMINI = Auth(
    header="x-goog-api-key",
    query="key",
    missing="Method doesn't allow unregistered callers (callers without established identity). "
    "Please use API Key or other form of API consumer identity to call this API.",
    wrong="API key not valid. Please pass a valid API key.",
    missing_status=403,
    wrong_status=400,
)
MINIMAX = Auth(
    missing="login fail: Please carry the API secret key in the 'Authorization' field of the "
    "request header (1004)",
    wrong="invalid api key (2049)",
)
MINIMAX_ANTHROPIC = Auth(
    header="x-api-key",
    or_bearer=True,
    missing="login fail: Please carry the API secret key in the 'X-Api-Key' field of the request "
    "header",
    wrong="invalid api key",
)
DEEPSEEK_ANTHROPIC = Auth(
    header="x-api-key", or_bearer=True, missing=DEEPSEEK.missing, wrong=DEEPSEEK.wrong
)
GLM = Auth(
    missing="Authentication parameter not received in Header, unable to authenticate",
    wrong="token expired or incorrect",
    code="401",
)
DASHSCOPE = Auth(wrong="Incorrect API key provided.", code="invalid_api_key")
KIMI = Auth(missing="Invalid Authentication", wrong="Invalid Authentication")
MISTRAL = Auth(missing="Unauthorized", wrong="Unauthorized")
RELAY = Auth(missing="No auth credentials found", wrong="User not found.")
