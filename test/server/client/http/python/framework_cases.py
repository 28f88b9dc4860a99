"""The packages openai-agents, pydantic-ai and mcp, as they are."""

from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, set_tracing_disabled
from cases import case, equal, run
from mcp import Client
from openai import APIStatusError, AsyncOpenAI
from pydantic import BaseModel
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai import NativeOutput
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.models.openai import OpenAIResponsesModel as PydanticResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

set_tracing_disabled(True)

TEXT = "Here it is"


class Total(BaseModel):
    total: int


def openai_client(base_url):
    return AsyncOpenAI(base_url=base_url + "/v1", api_key="key", max_retries=0)


def agents_models(base_url, name):
    return [kind(model=name, openai_client=openai_client(base_url)) for kind in (OpenAIChatCompletionsModel, OpenAIResponsesModel)]


@case
async def agents_sdk(base_url):
    for model in agents_models(base_url, "assistant"):
        result = await Runner.run(Agent(name="front", instructions="Be short.", model=model), "Find x")
        assert result.final_output.endswith(TEXT), result.final_output


@case
async def agents_sdk_streamed(base_url):
    for model in agents_models(base_url, "assistant"):
        result = Runner.run_streamed(Agent(name="front", model=model), "Find x")
        kinds = [event.data.type async for event in result.stream_events() if event.type == "raw_response_event"]
        assert "response.output_text.delta" in kinds
        assert result.final_output.endswith(TEXT), result.final_output


@case
async def agents_sdk_structured(base_url):
    for model in agents_models(base_url, "counter"):
        agent = Agent(name="front", model=model, output_type=Total)
        equal((await Runner.run(agent, "Count")).final_output, Total(total=3))
        streamed = Runner.run_streamed(agent, "Count")
        async for _ in streamed.stream_events():
            pass
        equal(streamed.final_output, Total(total=3))


@case
async def agents_sdk_second_turn(base_url):
    for model in agents_models(base_url, "assistant"):
        agent = Agent(name="front", model=model)
        first = await Runner.run(agent, "Find x")
        second = await Runner.run(agent, first.to_input_list() + [{"role": "user", "content": "Find x again"}])
        assert second.final_output.endswith(TEXT), second.final_output


@case
async def agents_sdk_error(base_url):
    for model in agents_models(base_url, "nobody"):
        try:
            await Runner.run(Agent(name="front", model=model), "Find x")
        except APIStatusError as error:
            equal(error.code, "model_not_found")
        else:
            raise AssertionError("nothing was raised")


def pydantic_models(base_url, name):
    provider = OpenAIProvider(base_url=base_url + "/v1", api_key="key")
    return [kind(name, provider=provider) for kind in (OpenAIChatModel, PydanticResponsesModel)]


@case
async def pydantic_ai(base_url):
    for model in pydantic_models(base_url, "assistant"):
        result = await PydanticAgent(model, instructions="Be short.").run("Find x")
        assert result.output.endswith(TEXT), result.output


@case
async def pydantic_ai_streamed(base_url):
    for model in pydantic_models(base_url, "assistant"):
        async with PydanticAgent(model).run_stream("Find x") as result:
            pieces = [piece async for piece in result.stream_text(delta=True, debounce_by=None)]
        assert "".join(pieces).endswith(TEXT), pieces
        assert len(pieces) > 1


@case
async def pydantic_ai_structured(base_url):
    for model in pydantic_models(base_url, "counter"):
        agent = PydanticAgent(model, output_type=NativeOutput(Total))
        equal((await agent.run("Count")).output, Total(total=3))
        async with agent.run_stream("Count") as result:
            equal(await result.get_output(), Total(total=3))


@case
async def pydantic_ai_error(base_url):
    for model in pydantic_models(base_url, "nobody"):
        try:
            await PydanticAgent(model).run("Find x")
        except ModelHTTPError as error:
            equal(error.status_code, 404)
        else:
            raise AssertionError("nothing was raised")


@case
async def mcp_client(base_url):
    async with Client(base_url + "/mcp") as client:
        tools = (await client.list_tools()).tools
        assert {"assistant", "counter", "broken"} <= {tool.name for tool in tools}
        told = []

        async def progress(done, total, message):
            told.append(message)

        result = await client.call_tool("assistant", {"input": "Find x"}, progress_callback=progress)
        equal(result.content[0].text, TEXT)
        assert "The agent calls search" in told, told


@case
async def mcp_client_structured(base_url):
    async with Client(base_url + "/mcp") as client:
        equal((await client.call_tool("counter", {"input": "Count"})).structured_content, {"total": 3})


@case
async def mcp_client_error(base_url):
    async with Client(base_url + "/mcp") as client:
        result = await client.call_tool("broken", {"input": "Find x"})
        assert result.is_error
        assert "model_error" in result.content[0].text


run()
