"""Ten other wordings of the probes' questions, with the same values to fill in.

`{name!j}` writes a value as JSON.
"""

from __future__ import annotations

import json
import string
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from typing_extensions import override

FORMAT = (
    'Please use {tool} one time. The message should be "{message}" and the tag should be {tag}. '
    "I need the message verbatim, and no prose from you.",
    "Could you call {tool} for me? message = {message}\ntag = {tag}\n"
    "Just the one call, please, nothing in text.",
    "{tool}, once:\n- tag: {tag}\n- message: {message}\nDon't write anything else.",
    "Invoke `{tool}` a single time with the following JSON as its arguments: "
    '{{"message": {message!j}, "tag": "{tag}"}}. No textual answer, please.',
    'I would like you to run the {tool} tool. Its tag is "{tag}". Its message is as follows, to be '
    "copied without the slightest change:\n{message}",
    'Arguments:\n  "tag": "{tag}"\n  "message": {message!j}\nTool: {tool}\n'
    "Make exactly one call and say nothing.",
    "Hi there! Quick favour: fire off one {tool} call, tag {tag}, with this text as the message "
    "(keep each and every character, accents and symbols too):\n\n{message}\n\n"
    "Thanks! No need to reply in words.",
    "Do not reply in prose; instead make one single call of {tool}, whose arguments are\n\n"
    "    message   {message}\n    tag       {tag}\n",
    "Send the tag {tag} and the message «{message}» to {tool}. One call only.",
    "With {tool}, echo the message '{message}' under the tag '{tag}'. Only call the tool: I do not "
    "want a written answer.",
)
SCHEMA = (
    "Please call {tool} once, passing precisely this JSON object as its arguments:\n\n{arguments}"
    "\n\nNumbers stay numbers, and strings stay as they are.",
    "{arguments}\n\nThat is what {tool} should be given. One call, types unchanged, no comment.",
    "Use {tool}. Arguments: {arguments}",
    "Could you make a single {tool} call with {arguments}? Don't touch the types or the spelling, "
    "and don't write a reply.",
    "Run {tool} with the following payload.\n```json\n{arguments}\n```\n"
    "One time only. I do not want to read anything from you.",
    "Arguments for the next tool call = {arguments}\nTool for the next tool call = {tool}\n"
    "Make it now.",
    "I have prepared the input of {tool} as JSON; hand it over unchanged, null and booleans "
    "included, in exactly one call:\n{arguments}",
    "No prose. Exactly one invocation of `{tool}`, with `{arguments}`.",
    "Hello! My colleague asks whether {tool} accepts {arguments} as its arguments. Try it, once, "
    "and please keep every value and type as I gave it.",
    "Step 1: take this object: {arguments}\nStep 2: call {tool} with it, once, without changing "
    "anything in it.\nStep 3: say nothing.",
)
EMPTY = (
    "Please call {tool} once. There is nothing to pass to it.",
    "Use {tool} without any arguments, a single time, and say nothing.",
    "{tool}, please. No parameters, no prose.",
    "Could you invoke the {tool} tool? It has no parameters, so send an empty object. "
    "Only one call.",
    "I'd like to know what {tool} says. Call it one time; it doesn't need any input. "
    "Don't reply in text.",
    "Call {tool}()",
    "Do not write anything: just run {tool} once with {{}} as its arguments.",
    "Tool: {tool}\nArguments: none\nCalls: 1",
    "Make exactly one call of `{tool}`, which expects no arguments at all.",
    "Find out the time with {tool}. It works without arguments. One call is enough.",
)
SILENCE = (
    'Please answer with the words "{text}" only. Leave the tools alone.',
    "Say this and only this: {text}\nNo tools are needed.",
    "Without using any tool, write back exactly the following line:\n{text}",
    "Don't call anything. Just repeat after me: {text}",
    'Your whole answer must be: "{text}". Tools are off limits for this one.',
    'Could you type "{text}" for me, word for word? There is no need for a tool call.',
    "Echo the sentence below in plain text, not through a tool.\n\n{text}",
    "Answer in plain text with «{text}» and add nothing. No tool calls, please.",
    'No function calls this time. Output:\n"{text}"',
    "I only want to read '{text}' in your answer, nothing before it and nothing after it, and not "
    "a single tool call.",
)
ROUND_TRIP = (
    'Please call {tool} one time with message "{message}" and tag "{tag}". The result contains a '
    "nonce: tell me that nonce in plain words once you have it, without calling a tool again.",
    "First, call {tool}:\n  message = {message}\n  tag = {tag}\n"
    "Then read the nonce in its result and write it to me as text.",
    'What nonce does {tool} give back for the tag {tag} and the message "{message}"? Call it once, '
    "then answer in text.",
    '1. Use {tool} with {{"message": {message!j}, "tag": {tag!j}}}.\n'
    "2. Look for the nonce in what comes back.\n3. Tell me the nonce. No second call.",
    "tag: {tag}\nmessage: {message}\n\nSend these to {tool}. It will hand you a nonce; report it "
    "to me in a sentence afterwards.",
    "I need a nonce from you. You get it by calling {tool} once, with the tag {tag} and this "
    "message: {message}\nAs soon as the result is there, write the nonce in your answer, with no "
    "further tool call.",
    "Call {tool} (message: '{message}', tag: '{tag}') and, when the result is in, repeat the nonce "
    "it holds. Use words, not a tool, for that.",
    "Would you please run {tool} once? Arguments:\n- message: {message}\n- tag: {tag}\n"
    "Its answer will include a nonce, which I would like you to quote back to me.",
    "Get the nonce: {tool}, message={message}, tag={tag}. Reply with it in text.",
    'Pass the message "{message}" to {tool} under the tag {tag}. Afterwards, and without tools, '
    "give me the nonce from the result.",
)
PARALLEL = (
    "Please call {first} with {first_arguments} and {second} with {second_arguments}, both at once "
    "in the same turn.",
    "Two calls, in parallel:\n- {first}: {first_arguments}\n- {second}: {second_arguments}\n"
    "Don't wait for the one before you make the other.",
    "In a single turn, make both of these tool calls.\na) {first} {first_arguments}\n"
    "b) {second} {second_arguments}",
    "I need two results together. Invoke {first} using {first_arguments}; simultaneously invoke "
    "{second} using {second_arguments}.",
    "Issue these calls side by side:\n\n{first}({first_arguments})\n{second}({second_arguments})",
    "Could you run two tools concurrently for me? The arguments {first_arguments} are for {first}, "
    "and the arguments {second_arguments} are for {second}.",
    "{first} ← {first_arguments}\n{second} ← {second_arguments}\nBoth in one message, please.",
    "Tool: {first}\nArguments: {first_arguments}\n\nTool: {second}\nArguments: {second_arguments}"
    "\n\nSend the two together.",
    "Call {first} with {first_arguments}, and at the same time, without awaiting its result, call "
    "{second} with {second_arguments}. Two calls, one turn.",
    "Parallel job. Firstly {first} with the JSON {first_arguments}. Secondly {second} with the "
    "JSON {second_arguments}. Do not do them one by one.",
)
STREAMING = (
    "Please make two calls in one turn: {echo} with {echo_arguments}, and {add} with "
    "{add_arguments}.",
    "Simultaneously:\n* {echo} {echo_arguments}\n* {add} {add_arguments}",
    "Use both tools now, in the same answer. For {echo} the arguments are {echo_arguments}. "
    "For {add} they are {add_arguments}.",
    "Could you call {echo} and {add} in parallel? Give the first {echo_arguments} and the second "
    "{add_arguments}.",
    "First call: {echo}, with {echo_arguments}\nSecond call: {add}, with {add_arguments}\n"
    "Both are due in one turn.",
    "I want {echo} to receive {echo_arguments} while {add} receives {add_arguments}. "
    "Send the two calls together.",
    "Do two things at once.\n\n{echo}:\n{echo_arguments}\n\n{add}:\n{add_arguments}",
    "Call {echo} with {echo_arguments} as well as {add} with {add_arguments}; "
    "one turn for the pair, please.",
    "Together and not in sequence: {echo} = {echo_arguments}, {add} = {add_arguments}",
    "(1) {echo}, arguments: {echo_arguments}\n(2) {add}, arguments: {add_arguments}\n\n"
    "Make calls (1) and (2) within a single response.",
)
ERROR_REPAIR = (
    "Please look up {path} with {tool}. Should the tool report an error, fix the path accordingly "
    "and try again.",
    "Call {tool} with path = {path}\n"
    "If that fails, do what the error message tells you and repeat the call.",
    "path: {path}\ntool: {tool}\n\n"
    "Call it. On an error, change the argument the way the error asks and call again.",
    'Use {tool} on "{path}". You may get an error back; if you do, correct your argument and '
    "retry.",
    "Could you run {tool} for the path {path}? When it complains, follow its advice and run it "
    "again, please.",
    '{tool} {{"path": "{path}"}}\nRetry with a corrected path if it errors.',
    "Check the path '{path}' by means of {tool}. In case of an error: read it, mend the argument, "
    "call once more.",
    "1. Invoke `{tool}` with `{path}` as its path.\n"
    "2. If there is an error, invoke it again with a path that satisfies the error.",
    "I am looking for the file {path}. {tool} can find it. If it says that something is wrong with "
    "the path, put that right and ask it again.",
    "Try {tool} with the argument path set to {path}. Errors from it are hints: apply the hint and "
    "try once more.",
)
# The questions of reasoning_replay and of closure, which are the same.
ADDING = (
    "Please call {tool} once for a={a}, b={b}. You will find a nonce in the result; tell me the "
    "nonce in plain text, with no other call.",
    "Add {a} and {b} by means of {tool}. The result comes with a nonce. Once you have it, write it "
    "to me without using a tool.",
    'Use {tool} with {{"a": {a}, "b": {b}}}. Then answer with the nonce that the result holds.',
    "a: {a}\nb: {b}\n\nHand these to {tool}, one call. After that, quote the nonce from its result "
    "in your answer.",
    "What nonce do you get from {tool} when a is {a} and b is {b}? Call the tool first, then "
    "answer in words.",
    "Could you run {tool}? The first number, a, is {a}; the second number, b, is {b}. I only care "
    "about the nonce in what it returns: say it in text.",
    "{tool}: a = {a}, b = {b}. Reply with the nonce it gives you. Just one call.",
    "Step one: {tool}, with a set to {a} and b set to {b}. "
    "Step two: no tool, only the nonce from the result.",
    "Get the nonce by calling {tool} a single time. Arguments: b = {b}, a = {a}. "
    "Report the nonce in a sentence.",
    "With {tool}, sum up {a} (as a) and {b} (as b). Its answer includes a nonce, and this nonce is "
    "what I want to read from you.",
)
NEXT = (
    'Thanks. Next, please call {tool} once with message "{message}" and tag "{tag}".',
    "And now {tool}:\nmessage = {message}\ntag = {tag}",
    'Good. Now use {tool} with {{"message": {message!j}, "tag": {tag!j}}}, one time.',
    'One more thing: send the message "{message}" to {tool}, under the tag {tag}.',
    "Could you now make a call of {tool}? tag: {tag}, message: {message}",
    "Great, that was it. The next step is {tool}.\n- tag: {tag}\n- message: {message}",
    "Now it is {tool}'s turn. Its arguments are message: '{message}' and tag: '{tag}'. "
    "A single call, please.",
    'Moving on. Echo "{message}" with {tool}, tag {tag}.',
    "Right. {tool}, please, once, and this time with\n    message: {message}\n    tag: {tag}",
    'Then call {tool} exactly one time, where message is "{message}" and tag is "{tag}".',
)
CALLING = (
    'Please call {tool}, one time only, with message "{message}" and tag {tag}.',
    "Call {tool} with:\n* message: {message}\n* tag: {tag}",
    "tag = {tag}\nmessage = {message}\nUse {tool} with these two arguments, once.",
    'Make one {tool} call: {{"tag": {tag!j}, "message": {message!j}}}',
    'Would you call {tool} for me, with the tag "{tag}" and the message "{message}"?',
    'The tool to use is {tool}. The message to give it is "{message}". '
    'The tag to give it is "{tag}". Do it once.',
    "Echo the message {message!j} by way of {tool}; the tag is {tag}.",
    "Run {tool} exactly once. message={message}; tag={tag}",
    "{tool}\n  message: {message}\n  tag: {tag}\nOne call.",
    'I need you to pass "{message}" as the message and "{tag}" as the tag to {tool}.',
)
WORD_OF_THE_DAY = (
    'Hello! Today\'s word is "{message}".',
    'Good morning to you. I have chosen "{message}" as my word of the day.',
    "Morning! Word of the day: {message}.",
    'Hi. If you wonder what my word of the day is, it is "{message}".',
    'A very good morning. "{message}" is the word I picked today.',
    "Hey there, how are you? My word today happens to be {message}.",
    'Good day. The word of the day is, once again, "{message}".',
    'Greetings! I woke up with the words "{message}" in my head.',
    'Good morning, what a day! By the way, I like the phrase "{message}".',
    "Hello, it is me. Word of the day = {message}",
)
GREETING = (
    "Good morning!",
    "Hello.",
    "Morning.",
    "Hi there, good morning to you.",
    "Hey! How are you today?",
    "A good morning to you.",
    "Hello, nice to meet you.",
    "Good day, I hope you are well.",
    "Greetings.",
    "Hi! Are you there?",
)


def fill_wording(wording: str, values: Mapping[str, Any]) -> str:
    """Fill the values into a wording."""
    return _Formatter().vformat(wording, (), values)


class _Formatter(string.Formatter):
    @override
    def convert_field(self, value: Any, conversion: str | None) -> Any:
        if conversion == "j":
            return json.dumps(value, ensure_ascii=False)
        return super().convert_field(value, conversion)


WORDINGS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "format": FORMAT,
        "schema": SCHEMA,
        "empty": EMPTY,
        "silence": SILENCE,
        "round_trip": ROUND_TRIP,
        "parallel": PARALLEL,
        "streaming": STREAMING,
        "error_repair": ERROR_REPAIR,
        "adding": ADDING,
        "next": NEXT,
        "calling": CALLING,
        "word_of_the_day": WORD_OF_THE_DAY,
        "greeting": GREETING,
    }
)
