"""The package openai, as it is, in any version."""

import openai
from cases import case, equal, run
from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel

MESSAGES = [{"role": "user", "content": "Find x"}]
TEXT = "Here it is"
ALL = "I look.\n\n" + TEXT


class Total(BaseModel):
    total: int


def client(base_url, **options):
    return OpenAI(base_url=base_url + "/v1", api_key="key", max_retries=0, **options)


def async_client(base_url):
    return AsyncOpenAI(base_url=base_url + "/v1", api_key="key", max_retries=0)


@case
def models(base_url):
    assert {"assistant", "counter"} <= {model.id for model in client(base_url).models.list()}


@case
def chat(base_url):
    completion = client(base_url).chat.completions.create(model="assistant", messages=MESSAGES)
    equal(completion.choices[0].message.content, TEXT)
    equal(completion.choices[0].finish_reason, "stop")
    equal(completion.usage.total_tokens, 30)


@case
def chat_streamed(base_url):
    stream = client(base_url).chat.completions.create(
        model="assistant", messages=MESSAGES, stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)
    equal("".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices), ALL)
    equal(chunks[-1].usage.total_tokens, 30)
    assert len(chunks) > 5


@case
def chat_stream_helper(base_url):
    with client(base_url).chat.completions.stream(model="assistant", messages=MESSAGES) as stream:
        deltas = [event.delta for event in stream if event.type == "content.delta"]
        equal("".join(deltas), ALL)
        equal(stream.get_final_completion().choices[0].message.content, ALL)


@case
async def chat_streamed_async(base_url):
    stream = await async_client(base_url).chat.completions.create(model="assistant", messages=MESSAGES, stream=True)
    equal("".join([chunk.choices[0].delta.content or "" async for chunk in stream]), ALL)


@case
def chat_structured(base_url):
    completion = client(base_url).chat.completions.parse(model="counter", messages=MESSAGES, response_format=Total)
    equal(completion.choices[0].message.parsed, Total(total=3))


@case
def chat_structured_streamed(base_url):
    with client(base_url).chat.completions.stream(model="counter", messages=MESSAGES, response_format=Total) as stream:
        stream.until_done()
        equal(stream.get_final_completion().choices[0].message.parsed, Total(total=3))


@case
def response(base_url):
    answer = client(base_url).responses.create(model="assistant", input="Find x")
    equal(answer.status, "completed")
    equal([item.type for item in answer.output], ["message", "mcp_call", "message"])
    equal(answer.output[1].output, "found: x")
    equal(answer.output[2].content[0].text, TEXT)
    equal(client(base_url).responses.retrieve(answer.id).output_text, answer.output_text)


@case
def response_streamed(base_url):
    events = list(client(base_url).responses.create(model="assistant", input="Find x", stream=True))
    equal(events[0].type, "response.created")
    equal(events[-1].type, "response.completed")
    equal("".join(event.delta for event in events if event.type == "response.output_text.delta"), "I look." + TEXT)
    rest = client(base_url).responses.retrieve(
        events[0].response.id, stream=True, starting_after=events[4].sequence_number
    )
    equal([event.sequence_number for event in rest][-1], events[-1].sequence_number)


@case
def response_stream_helper(base_url):
    with client(base_url).responses.stream(model="assistant", input="Find x") as stream:
        for _ in stream:
            pass
        equal(stream.get_final_response().output[2].content[0].text, TEXT)


@case
async def response_streamed_async(base_url):
    stream = await async_client(base_url).responses.create(model="assistant", input="Find x", stream=True)
    equal([event.type async for event in stream][-1], "response.completed")


@case
def response_structured(base_url):
    equal(client(base_url).responses.parse(model="counter", input="Count", text_format=Total).output_parsed, Total(total=3))


@case
def response_structured_streamed(base_url):
    with client(base_url).responses.stream(model="counter", input="Count", text_format=Total) as stream:
        equal(stream.get_final_response().output_parsed, Total(total=3))


@case
def response_continued(base_url):
    first = client(base_url).responses.create(model="assistant", input="Find x")
    second = client(base_url).responses.create(model="assistant", input="Thanks", previous_response_id=first.id)
    equal(second.status, "completed")


@case
def response_in_the_background(base_url):
    started = client(base_url).responses.create(model="assistant", input="Find x", background=True)
    assert started.status in ("in_progress", "completed")
    for _ in client(base_url).responses.retrieve(started.id, stream=True):
        pass
    equal(client(base_url).responses.retrieve(started.id).status, "completed")


def fails(error, code, call):
    try:
        call()
    except error as thrown:
        equal(thrown.code, code)
        return thrown
    raise AssertionError(f"nothing was raised: expected {code}")


@case
def unknown_model(base_url):
    for stream in (False, True):
        call = lambda: client(base_url).chat.completions.create(model="nobody", messages=MESSAGES, stream=stream)
        fails(openai.NotFoundError, "model_not_found", call)
        call = lambda: client(base_url).responses.create(model="nobody", input="Q", stream=stream)
        fails(openai.NotFoundError, "model_not_found", call)


@case
def parameter_that_is_not_supported(base_url):
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]
    call = lambda: client(base_url).chat.completions.create(model="assistant", messages=MESSAGES, tools=tools)
    equal(fails(openai.APIStatusError, "unsupported_parameter", call).status_code, 400)
    flat = [{"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}, "strict": False}]
    call = lambda: client(base_url).responses.create(model="assistant", input="Q", tools=flat)
    equal(fails(openai.BadRequestError, "unsupported_parameter", call).param, "tools")


@case
def run_that_fails(base_url):
    call = lambda: client(base_url).chat.completions.create(model="broken", messages=MESSAGES)
    assert fails(openai.InternalServerError, "model_error", call).request_id
    equal(client(base_url).responses.create(model="broken", input="Q").status, "failed")


@case
def stream_of_a_run_that_fails(base_url):
    stream = client(base_url).chat.completions.create(model="broken", messages=MESSAGES, stream=True)
    fails(openai.APIError, "model_error", lambda: list(stream))
    equal(list(client(base_url).responses.create(model="broken", input="Q", stream=True))[-1].type, "response.failed")


run()
