"""Tags and tokens around reasoning, visible text and whole messages."""

from __future__ import annotations

from types import MappingProxyType

from probes.parsers.json_formats import harmony, inkling
from probes.parsers.tag_formats import muse_glimmer

THINK = MappingProxyType(
    {
        "<think>": "</think>",
        "<mm:think>": "</mm:think>",
        "[THINK]": "[/THINK]",
        "<|open|>think<|sep|>": "<|close|>think<|sep|>",
        "<|START_THINKING|>": "<|END_THINKING|>",
        "<longcat_think>": "</longcat_think>",
        "<|inner_prefix|>": "<|inner_suffix|>",
        "<|channel>thought": "<channel|>",
        "<think:opensource>": "</think:opensource>",
        "<seed:think>": "</seed:think>",
        "<|think|>": "<|end|>",
        "<|content_thinking|>": "<|end_message|>",
        "<thinking>": "</thinking>",
        "<thought>": "</thought>",
        "<reasoning>": "</reasoning>",
        "◁think▷": "◁/think▷",
        # Granite 3.2 opens its reasoning, and its answer, in plain words.
        "Here is my thought process:": "Here is my response:",
        "Here's my thought process:": "Here's my response:",
    }
)
# Headers of a message with visible text (Solar Open, Inkling, GigaChat 3). Behind one of them the
# tokens that end a message are markup too.
HEADERS = frozenset(
    {"<|begin|>assistant", "<|content|>", "<|flush|>", "<|content_text|>", "<|message_sep|>"}
)
ENDS = frozenset({*harmony.ENDS, *inkling.ENDS, *muse_glimmer.ENDS})
# Ends reasoning that only the prompt opens, in words that prose may contain as well (Apriel).
LONE_CLOSER = "[BEGIN FINAL RESPONSE]"
# Markup around visible text, which is not part of it (Kimi K3, Cohere, Apriel).
WRAPPERS = frozenset(
    {
        "<|open|>response<|sep|>",
        "<|close|>response<|sep|>",
        "<|START_RESPONSE|>",
        "<|END_RESPONSE|>",
        "<|START_TEXT|>",
        "<|END_TEXT|>",
        "[END FINAL RESPONSE]",
        '<|open|>message role="assistant"<|sep|>',
        "<|close|>message<|sep|>",
        *HEADERS,
    }
)
# Prose may contain these words as well. They count at the start of the text, and inside reasoning.
PHRASES = frozenset(word for word in (*THINK, *THINK.values()) if word.startswith("Here"))
# What ends reasoning that the text did not open.
CLOSERS = frozenset({*THINK.values(), LONE_CLOSER}) - PHRASES
# The answer behind reasoning (Hunyuan and others).
ANSWER, ANSWER_END = "<answer>", "</answer>"
TAGS = frozenset({*THINK, *THINK.values(), *CLOSERS, *WRAPPERS, *ENDS})
# Tokens and closing tags that an engine leaves behind a call; elsewhere they are text.
STOPS = frozenset(
    {
        "<|im_end|>",
        "<|eot_id|>",
        "<|eom_id|>",
        "<|end_of_text|>",
        "<|endoftext|>",
        "<|end_of_turn|>",
        "<|END_OF_TURN_TOKEN|>",
        "<|observation|>",
        "<|assistant_end|>",
        "<|end_of_msg|>",
        "<SPECIAL_12>",
        "<seed:eos>",
        "<end_of_turn>",
        "<turn|>",
        "<eos>",
        "</s>",
        "<｜end▁of▁sentence｜>",
        "[e~[",
        "</tool_call>",
        "</tool_calls>",
        "</function_calls>",
        "</function_call>",
        "</minimax:tool_call>",
        "</seed:tool_call>",
        "</TOOLCALL>",
        "</function>",
        "</invoke>",
        "</answer>",
    }
)
