"""The list of models that a client may ask for: the one of its endpoint, in the client's format."""

from __future__ import annotations

from dashboard.live.snapshot import LiveEndpoint
from probes.messages import JSON


def list_models(format: str, endpoint: LiveEndpoint) -> JSON:
    """Any model name is answered; this is the one that the endpoint serves."""
    name = endpoint.model
    match format:
        case "gemini":
            methods = ["generateContent", "streamGenerateContent"]
            return {"models": [{"name": f"models/{name}", "supportedGenerationMethods": methods}]}
        case "ollama":
            return {"models": [{"name": name, "model": name}]}
        case _:
            # OpenAI's and Anthropic's clients read the same address.
            model: JSON = {
                "id": name,
                "object": "model",
                "type": "model",
                "display_name": name,
                "created": 0,
                "created_at": "1970-01-01T00:00:00Z",
                "owned_by": endpoint.provider,
            }
            return {
                "object": "list",
                "data": [model],
                "has_more": False,
                "first_id": name,
                "last_id": name,
            }
