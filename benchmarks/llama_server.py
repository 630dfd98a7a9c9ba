"""llama.cpp's own server on one model, run by a Python that has `xllamacpp` and little else.

`benchmarks/real_model.py` starts it. It imports nothing from this project, which is not installed
there.
"""

from __future__ import annotations

import argparse
import signal
from pathlib import Path

# The template of Qwen and other Hermes-style models. From it llama.cpp learns that the model calls
# tools, and in which tags. The example names an offered tool, because a model this small repeats
# what it sees.
HERMES = """\
{%- if tools %}<|im_start|>system
You call functions. These are the functions that you can call:
<tools>
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}</tools>
For each call write a JSON object with the name and the arguments within tags:
<tool_call>
{"name": "{{ tools[0].function.name }}", "arguments": {"argument": "value"}}
</tool_call><|im_end|>
{% endif %}
{%- for message in messages %}
{%- if message.role == 'tool' %}<|im_start|>user
<tool_response>
{{ message.content }}
</tool_response><|im_end|>
{% elif message.tool_calls %}<|im_start|>assistant
{% for call in message.tool_calls %}<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{% endfor %}<|im_end|>
{% else %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
# The tag is already in the prompt, so that the model only writes the rest of the call.
PREFILLED = HERMES.removesuffix("{% endif %}") + "<tool_call>\n{% endif %}"
TEMPLATES = {"own": "", "hermes": HERMES, "prefilled": PREFILLED}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--template", choices=TEMPLATES, default="own")
    parser.add_argument("--slots", type=int, default=2)
    options = parser.parse_args()
    server = serve(options.model, options.port, TEMPLATES[options.template], options.slots)
    # It answers from its own threads until the process ends.
    signal.pause()
    del server


def serve(model: Path, port: int, template: str, slots: int) -> object:
    """Load the model and serve it; while it loads, every question is answered with 503."""
    import xllamacpp  # type: ignore[import-not-found]

    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.model_alias = {model.stem}
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_parallel = slots
    params.n_ctx = 4096 * slots
    # Several threads spin while they wait for each other: ten times slower on a busy machine.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    if template:
        params.chat_template = template
    return xllamacpp.Server(params)


if __name__ == "__main__":
    main()
