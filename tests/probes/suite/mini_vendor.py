"""An independent vendor: OpenAI Chat from the format's documentation, reading plain requests.

It shares no code with the prober or the simulated vendors, so a fault that both of those share
shows here. `failing` is "", "leak", "prose" or "one_call".
"""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from typing_extensions import override

Call = tuple[str, dict[str, Any]]
KNOWN = frozenset(
    {
        "model",
        "messages",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "stream",
        "stream_options",
        "max_tokens",
        "max_completion_tokens",
    }
)
_IDS = itertools.count(1)


class Refusal(Exception):
    """A request that the vendor refuses."""


@contextlib.contextmanager
def run_vendor(failing: str = "") -> Iterator[str]:
    """Run the vendor on a free port; yields its base URL."""

    class Handler(_Handler):
        trouble = failing

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        thread.join(10)
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    trouble = ""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/v1/chat/completions":
            return self._send(404, {"error": {"message": "Not found", "type": "not_found"}})
        try:
            check(request)
        except Refusal as exc:
            error = {"message": str(exc), "type": "invalid_request_error", "code": None}
            return self._send(400, {"error": error})
        message, reason = as_message(*think(request), self.trouble)
        if request.get("stream"):
            return self._stream(request["model"], message, reason)
        choice = {"index": 0, "message": message, "finish_reason": reason}
        usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
        head = {"id": "chatcmpl-mini", "object": "chat.completion", "created": 1}
        return self._send(
            200, {**head, "model": request["model"], "choices": [choice], "usage": usage}
        )

    def do_GET(self) -> None:
        self._send(404, {"error": {"message": "Not found", "type": "not_found"}})

    def _send(self, status: int, body: dict[str, Any]) -> None:
        self._write(status, "application/json", json.dumps(body).encode())

    def _stream(self, model: str, message: dict[str, Any], reason: str) -> None:
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": None}]
        deltas += [{"content": piece} for piece in _pieces(message["content"] or "")]
        for index, call in enumerate(message.get("tool_calls", ())):
            named = {"name": call["function"]["name"], "arguments": ""}
            deltas.append({"tool_calls": [{**call, "index": index, "function": named}]})
            for piece in _pieces(call["function"]["arguments"]):
                deltas.append({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        choices: list[dict[str, Any]] = [
            {"index": 0, "delta": delta, "finish_reason": None} for delta in deltas
        ]
        choices.append({"index": 0, "delta": {}, "finish_reason": reason})
        head = {"id": "chatcmpl-mini", "object": "chat.completion.chunk", "model": model}
        events = [json.dumps({**head, "choices": [choice]}) for choice in choices]
        data = "".join(f"data: {event}\n\n" for event in [*events, "[DONE]"])
        self._write(200, "text/event-stream", data.encode())

    def _write(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    @override
    def log_message(self, format: str, *args: Any) -> None:
        """Nothing, to keep the test output clean."""


def _pieces(text: str) -> list[str]:
    return [text[at : at + 5] for at in range(0, len(text), 5)]


def check(request: dict[str, Any]) -> None:
    """Refuse what OpenAI refuses, with its messages: unknown parameters, and unclosed histories."""
    for name in request.keys() - KNOWN:
        raise Refusal(f"Unrecognized request argument supplied: {name}")
    waiting: set[str] = set()
    for message in request["messages"]:
        if message["role"] == "tool":
            if not isinstance(message["content"], str):
                raise Refusal("Image URLs are only allowed for messages with role 'user'.")
            if message["tool_call_id"] not in waiting:
                raise Refusal(
                    "Invalid parameter: messages with role 'tool' must be a response to a "
                    "preceeding message with 'tool_calls'."
                )
            waiting.remove(message["tool_call_id"])
        elif waiting:
            break
        else:
            waiting = {call["id"] for call in message.get("tool_calls") or ()}
    if waiting:
        raise Refusal(
            "An assistant message with 'tool_calls' must be followed by tool messages responding "
            "to each 'tool_call_id'. The following tool_call_ids did not have response messages: "
            + ", ".join(sorted(waiting))
        )


def think(request: dict[str, Any]) -> tuple[str, list[Call]]:
    """A text, or the calls that the question asks for."""
    messages = request["messages"]
    last = max(at for at, message in enumerate(messages) if message["role"] == "user")
    prompt, since = messages[last]["content"], messages[last + 1 :]
    if isinstance(prompt, list):
        return "I cannot see pictures.", []
    tools = {tool["function"]["name"]: tool["function"] for tool in request.get("tools", ())}
    choice = request.get("tool_choice", "auto")
    rules = "\n".join(m["content"] for m in messages if m["role"] == "system")
    if "You can call tools" in rules:
        return _prompted(prompt, rules), []
    if ending := re.search(r'End every reply with the word "(.*?)"', rules):
        return f"Gladly. {ending[1]}", []
    if since:
        return _after_results(prompt, since)
    if choice == "none" or "Do not call any tool" in prompt:
        quoted = re.search(r'"(.*)"', prompt)
        return quoted.group(1) if quoted else "I would rather not.", []
    named = choice["function"]["name"] if isinstance(choice, dict) else None
    calls = [call for call in _read(prompt, tools) if named in (None, call[0])]
    calls = calls[:1] if "Wait for each result" in prompt else calls
    if not calls and (named or choice == "required"):
        calls = [_made_up(tools[named or next(iter(tools))])]
    return "Hello.", calls if request.get("parallel_tool_calls", True) else calls[:1]


def _prompted(prompt: str, rules: str) -> str:
    """The call as the rules say, or the result that the message holds."""
    if "nonce" in prompt and "Call the tool" not in prompt:
        return f"This is what I got: {prompt}"
    described = [json.loads(line) for line in rules.splitlines() if line.startswith('{"name": "p')]
    name, arguments = _read(prompt, {tool["name"]: tool for tool in described})[0]
    call = json.dumps({"name": name, "arguments": arguments})
    return f"<tool_call>{call}</tool_call>" if "<tool_call>" in rules else call


def _after_results(prompt: str, since: list[dict[str, Any]]) -> tuple[str, list[Call]]:
    """The results in words, or the next step; an error that requires a prefix is followed."""
    content = since[-1]["content"]
    steps = re.findall(r"^\d\. (?:Then call|Call) (\w+) with (\w+): ", prompt, re.M)
    if "Wait for each result" in prompt and len(since) < 2 * len(steps):
        name, argument = steps[len(since) // 2]
        return "", [(name, {argument: json.loads(content)[argument]})]
    rule = re.search(r"(\w+) must start with (/\w+/)", content)
    if rule is None:
        return "This is what I got: " + " ".join(each["content"] or "" for each in since[1:]), []
    function = since[-2]["tool_calls"][0]["function"]
    arguments = json.loads(function["arguments"])
    arguments[rule[1]] = rule[2] + arguments[rule[1]].rsplit("/", 1)[-1]
    return "", [(function["name"], arguments)]


def _read(prompt: str, tools: dict[str, Any]) -> list[Call]:
    """One call per mention of a tool, with the values that follow its name."""
    if not tools:
        return []
    names = "|".join(map(re.escape, tools))
    if task := re.match(r'Please (\w+) the (\w+) with the reference (\S+), .*"(.*)"', prompt):
        return [(f"probe_{task[1]}_{task[2]}", {"reference": task[3], "note": task[4]})]
    return [
        (name, _arguments(rest, tools[name]["parameters"]))
        for name, rest in re.findall(rf"\b({names})\b((?:(?!\b(?:{names})\b).)*)", prompt, re.S)
    ]


def _arguments(text: str, schema: dict[str, Any]) -> dict[str, Any]:
    """A JSON object, or `name: value` to the end of a line, or `name = number`."""
    if "{" in text:
        with contextlib.suppress(ValueError):
            arguments: dict[str, Any] = json.JSONDecoder().raw_decode(text, text.index("{"))[0]
            return arguments
    arguments = {}
    for name, rules in schema.get("properties", {}).items():
        if rules.get("type") == "integer" and (number := re.search(rf"\b{name} = (\d+)", text)):
            arguments[name] = int(number[1])
        elif line := re.search(rf"(?:^|with ){name}: (.*)$", text, re.M):
            arguments[name] = line[1]
    return arguments


def _made_up(tool: dict[str, Any]) -> Call:
    values = {"integer": 1, "string": "word"}
    rules = tool["parameters"]["properties"]
    arguments = {name: rule.get("enum", [values[rule["type"]]])[0] for name, rule in rules.items()}
    return tool["name"], arguments


def as_message(text: str, calls: list[Call], failing: str) -> tuple[dict[str, Any], str]:
    """The message and its finish reason, with the vendor's fault."""
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if not calls:
        return message, "stop"
    if failing == "prose":
        return message | {"content": "I would call a tool for that, if I could."}, "stop"
    if failing == "leak":
        texts = [json.dumps({"name": name, "arguments": values}) for name, values in calls]
        leaked = "\n".join(f"<tool_call>\n{call}\n</tool_call>" for call in texts)
        return message | {"content": leaked}, "stop"
    entries = [
        {
            "id": f"call_mini{next(_IDS)}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(values, ensure_ascii=False)},
        }
        for name, values in (calls[:1] if failing == "one_call" else calls)
    ]
    return message | {"content": None, "tool_calls": entries}, "tool_calls"
