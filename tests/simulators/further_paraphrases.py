"""Ten more wordings of each question, less similar to the probes' own than the first ten."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

FORMAT = (
    "message is {message}\ntag is {tag}\n\n"
    "Those are the arguments for {tool}. Call it, once, silently.",
    'One {tool} call, please:\n```json\n{{"tag": "{tag}", "message": {message!j}}}\n```\n'
    "Leave the message untouched and skip any commentary.",
    'Would you mind calling {tool}? Set tag to {tag} and set message to "{message}". '
    "A single call is all I need, without any text.",
    '{tool}(message={message!j}, tag="{tag}")\nMake that call once, precisely like that. No words.',
    "You have a tool named {tool}. Use it now and only once. For the parameter `tag` pass {tag}; "
    "for the parameter `message` pass the following, without altering it: {message}",
    "Your task: exactly 1 tool call.\nTool → {tool}\nmessage → {message}\ntag → {tag}\n"
    "Text output is not allowed.",
    "Tag: {tag}\nMessage: {message}\n"
    "Go through {tool} for this, just once, and keep quiet otherwise.",
    'The words "{message}" have to go to {tool} as its message, tagged {tag}. '
    "Call it once and do not comment on it.",
    "Let's test {tool}. Give it two arguments: first message, which is {message!j}, then tag, "
    "which is {tag!j}. Please do not answer with text, and do not call twice.",
    'TOOL: {tool}\nARGS: message="{message}"; tag="{tag}"\nCOUNT: 1\nOUTPUT: none besides the call',
)
SCHEMA = (
    "Pass {arguments} to {tool}, verbatim, one call, no text.",
    "Kindly invoke the tool called {tool} with the JSON below. It must be called one time.\n---\n"
    "{arguments}\n---\nEvery key, type and character matters.",
    "<arguments>{arguments}</arguments>\n"
    "Call {tool} with what stands between the tags. Once. Keep the types.",
    "What happens if you give {tool} exactly this: {arguments}? Find out by calling it a single "
    "time, and do not answer me in words.",
    "tool: {tool}\narguments: {arguments}\n\n"
    "One call as above. Strings must not be trimmed, numbers must not be quoted.",
    "The arguments are given as JSON: {arguments}. The tool is {tool}. "
    "Call the latter with the former, just once.",
    "{tool} {arguments}",
    "I'd like one call to {tool}. Here's the object it takes:\n\n    {arguments}\n\n"
    "Copy it as is; don't convert anything, don't reply with text.",
    "Do the following without a word: call {tool} a single time, its input being {arguments} "
    "(unchanged, please).",
    "Take care to preserve types and characters when you call {tool} (exactly once) with "
    "{arguments}",
)
EMPTY = (
    "Trigger {tool} one single time, with an empty argument list.",
    "Would you run {tool} for me? Nothing needs to be filled in, and I want no written answer.",
    "Only action required: {tool}, no input, once.",
    "The tool {tool} takes nothing. Call it. Once.",
    "Please issue one {tool} call (no args) and leave out any text.",
    "Hi! Can you check {tool}, please? You needn't give it any values.",
    "Arguments: {{}}\nTool: {tool}\nPlease make that call one time.",
    "Without saying a word, call {tool}. It is a tool with zero parameters.",
    "Get me the current reading of {tool} by calling it exactly once; leave its arguments empty.",
    "Call `{tool}` now. No arguments. No text. No second call.",
)
SILENCE = (
    "Reply in text. The text is: {text}\nDo not use tools.",
    'Copy the quoted sentence into your reply, and refrain from calling tools: "{text}"',
    '"{text}" is what you should say, exactly, with no tools involved.',
    "Print {text!j} minus the quotation marks. Do not invoke any function.",
    "Hello! No tools today. Would you just write the following back to me, unchanged?\n\n> {text}",
    'Say "{text}". That is all; never mind the tools.',
    "text: {text}\n\nRespond with the above text, verbatim, as an ordinary message rather than as "
    "a tool call.",
    "You have tools, but do not touch them. Simply respond: {text}",
    "Respond with nothing but this sentence, in quotes here, without quotes in your answer: "
    '"{text}". No calls.',
    "Give me back, letter by letter and not by tool, what follows the colon: {text}",
)
ROUND_TRIP = (
    'One call of {tool} is needed, its tag being {tag} and its message being "{message}". The '
    "reply of the tool carries a nonce. Finish by telling me this nonce in prose.",
    "Do this in two steps. Step one: {tool} with tag={tag!j} and message={message!j}. "
    "Step two: state the nonce that came back, in plain text.",
    "Can you fetch a nonce for me? Call {tool} with\n\n"
    '    {{"tag": "{tag}", "message": "{message}"}}\n\n'
    "and then simply write the nonce. One call only.",
    "message → {message}\ntag → {tag}\ntool → {tool}\nWhen the tool has answered, your job is to "
    "write down the nonce it returned (no tool for that).",
    'Using {tool} once, submit "{message}" as the message, with {tag} as the tag. I then expect a '
    "short text from you that names the nonce of the result.",
    "`{tool}` wants `message` and `tag`. Let `message` be `{message}` and `tag` be `{tag}`. "
    "Call it, wait for the result, then tell me the nonce in it.",
    "Hey, please do a {tool} with tag {tag} and the following message:\n{message}\n"
    "In the output there is a nonce. Type it out for me afterwards, thanks.",
    "Set message to {message}. Set tag to {tag}. Call {tool} once. When done, answer with the "
    "nonce found in the result and call nothing else.",
    'Message: "{message}"\nTag: "{tag}"\n\nThat goes into {tool}, and the nonce coming out of it '
    "goes into your written answer.",
    'After a single call of {tool} with message "{message}", tag "{tag}", please answer with '
    "nothing but the nonce from its output.",
)
PARALLEL = (
    "These belong in one and the same answer: {first} with {first_arguments}; {second} with "
    "{second_arguments}.",
    "Would you do both of the following right away, in parallel?\n\n"
    "* call {first}, arguments {first_arguments}\n* call {second}, arguments {second_arguments}",
    "Make 2 tool calls in this turn. #1 = {first} with {first_arguments}. #2 = {second} with "
    "{second_arguments}. Nothing in between.",
    "Call {first} and {second} together. The former gets {first_arguments}; the latter gets "
    "{second_arguments}.",
    "Give {first_arguments} to {first} and {second_arguments} to {second}. "
    "Both calls have to leave in the same turn.",
    '[{{"tool": "{first}", "arguments": {first_arguments}}}, '
    '{{"tool": "{second}", "arguments": {second_arguments}}}]\n\n'
    "Execute that list of calls all at once.",
    "I am testing parallel tool use: one turn, two calls. Call A is {first}, taking "
    "{first_arguments}. Call B is {second}, taking {second_arguments}.",
    "{first} {first_arguments} && {second} {second_arguments}\nboth now, same turn",
    "Don't do this sequentially. Do it in one go: {first} (input: {first_arguments}) as well as "
    "{second} (input: {second_arguments}).",
    "At once, please:\n\n```\n{first}\n{first_arguments}\n\n{second}\n{second_arguments}\n```",
)
STREAMING = (
    "A pair of tool calls, please, in a single response: one of {echo} taking {echo_arguments} and "
    "one of {add} taking {add_arguments}.",
    "{add_arguments} is for {add}; {echo_arguments} is for {echo}. "
    "Make both calls in the same turn.",
    "Calls to make right now, jointly:\n    {echo} <- {echo_arguments}\n    {add} <- "
    "{add_arguments}",
    "Please run {echo} on {echo_arguments} and {add} on {add_arguments} concurrently.",
    "The tool {echo} should be called with {echo_arguments}. In the very same turn, the tool {add} "
    "should be called with {add_arguments}.",
    "You are to answer with exactly two tool calls: {echo}({echo_arguments}) and "
    "{add}({add_arguments}).",
    "No waiting: {add} with {add_arguments} plus {echo} with {echo_arguments}, both in this turn.",
    "| tool | arguments |\n|---|---|\n| {echo} | {echo_arguments} |\n| {add} | {add_arguments} |"
    "\n\nMake every call of this table, in parallel.",
    "Hi, could I have two calls at the same time? I mean {echo} (with {echo_arguments}) and {add} "
    "(with {add_arguments}). Cheers!",
    "Parallel:\n  - name: {echo}\n    arguments: {echo_arguments}\n"
    "  - name: {add}\n    arguments: {add_arguments}",
)
ERROR_REPAIR = (
    "What does {tool} say about {path}? Call it and see. If it answers with an error, adjust the "
    "path as told and call it a second time.",
    "Have {tool} look at {path}; whenever you get an error, repair your call and send it again.",
    "Argument:\n    path    {path}\nTool:\n    {tool}\n"
    "In the event of an error, correct and repeat.",
    'Please call {tool} with {{"path": "{path}"}}. An error will tell you what to change, so '
    "change it and call again.",
    "The path is {path}. The tool is {tool}. Make the call; if the result is an error, make it "
    "again with the argument put right.",
    '{tool}(path="{path}")  # on error: fix the argument, call again',
    "Let {tool} process `{path}` for me. It sometimes rejects paths; in that case listen to it and "
    "resubmit a better one.",
    "Kindly pass {path} as path to {tool}. If it turns out to be wrong, the tool explains why: "
    "please amend it and have another go.",
    "Go and query {tool} (path → {path}). Got an error? Then follow it and go again.",
    'Set path to "{path}" and call {tool}. Do not give up on an error: obey it and redo the call.',
)
ADDING = (
    "Let a be {a} and let b be {b}; call {tool} with them. As soon as there is a result, state its "
    "nonce in prose.",
    "I want the nonce that {tool} returns for {a} and {b}. One call, then text.",
    "- a: {a}\n- b: {b}\n- tool: {tool}\n"
    "After the call: reply with the nonce from the result (not by tool).",
    "{tool}(a={a}, b={b}) → contains a nonce. Write down that nonce for me.",
    "Would you be so kind as to call {tool}, once, with a equal to {a} and b equal to {b}, and "
    "afterwards to tell me in words which nonce came back?",
    "Feed {tool} the numbers a → {a} and b → {b}. Its output has a nonce in it; type that as your "
    "reply, using no more tools.",
    "Find the sum of {a} and {b} via {tool}. You'll get a nonce back too. Tell me it.",
    'Arguments as JSON: {{"b": {b}, "a": {a}}}\nTool: {tool}\n'
    "Then: answer with the nonce of the result, in text.",
    "Please compute {a} + {b} using {tool} and give me, in writing, the nonce which accompanies "
    "the result.",
    "For a take {a}, for b take {b}, and for the tool take {tool}. Call it one time, and when the "
    "nonce is there, pass it on to me in plain words.",
)
NEXT = (
    "Perfect. Please follow up with a single {tool} call whose message is {message!j} and whose "
    "tag is {tag!j}.",
    'Next up: {tool}(message="{message}", tag="{tag}")',
    'Thank you! Now, let {tool} have the tag {tag} and the message "{message}".',
    "message: {message}\ntag: {tag}\nNow call {tool} with these, just once.",
    "OK, now the other tool, {tool}, please: tag={tag}; message={message}",
    'Now do this: call {tool}, set the tag to {tag}, set the message to "{message}".',
    'What does {tool} return for the message "{message}" with the tag {tag}? Call it once.',
    "Alright, and now one call to {tool} with the arguments below.\n\n"
    '{{\n  "tag": "{tag}",\n  "message": "{message}"\n}}',
    'Please continue with {tool}. Use {tag} for tag. Use "{message}" for message.',
    "Now I would like the following text to go through {tool} as message, with {tag} as tag: "
    "{message}",
)
CALLING = (
    'Invoke {tool} just once, giving "{message}" for message and "{tag}" for tag.',
    'Time for a {tool} call. message: "{message}". tag: "{tag}".',
    "Submit this to {tool}:\n\nmessage | {message}\ntag | {tag}\n\nOnce, please.",
    'Can {tool} be called with tag {tag} and message "{message}"? Please do so.',
    "call {tool} once, tag {tag}, message {message}",
    "The tag is '{tag}', the message is '{message}', and the tool is {tool}. Call it.",
    'Use the tool {tool} with message set to "{message}" and with tag set to "{tag}".',
    '{{"message": {message!j}, "tag": {tag!j}}}\n\n^ arguments for {tool}. One call.',
    "Please have {tool} echo this: {message}\nThe tag should be {tag}.",
    'Under the tag {tag}, and exactly once, give {tool} the message "{message}".',
)
WORD_OF_THE_DAY = (
    'Hiya! "{message}" is my word for today, just so you know.',
    'Good morning! Guess my word of the day? It\'s "{message}".',
    "Dear assistant, good morning. The phrase I carry with me today is: {message}",
    'Nice to see you. My favourite words this morning are "{message}".',
    'Good morning. Did you sleep well? I did, and dreamt of "{message}".',
    "morning! wotd: {message}",
    'Hello hello. On my calendar it says "{message}" for today.',
    'Just saying good morning. And: "{message}", that is my word of the day.',
    'Wishing you a fine morning! Today I am all about "{message}".',
    "Good morning; my motto of the day is {message!j}.",
)
GREETING = (
    "Top of the morning to you!",
    "Hello, hello.",
    "Good morning, are you awake?",
    "Hey.",
    "Hi, it is a fine morning.",
    "Good morning, dear assistant.",
    "Welcome back.",
    "Howdy!",
    "Hello from over here.",
    "Good to see you this morning.",
)
FURTHER: Mapping[str, tuple[str, ...]] = MappingProxyType(
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
