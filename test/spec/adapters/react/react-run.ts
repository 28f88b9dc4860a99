import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { buildChatMessages } from '../../../../activities/models/openai/chat-messages.ts';
import { defineAgent } from '../../../../src/define/define-agent.ts';
import { defineTool } from '../../../../src/define/define-tool.ts';
import { type ToolDefinition, toolOutput } from '../../../../src/define/tool-definition.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../../src/core/domain/json.ts';
import type { ModelRequest } from '../../../../src/core/domain/model.ts';
import { newRunResult } from '../../../core/domain/new-run-result.ts';
import type { Operation } from '../adapter.ts';
import { CaseProblem, list, number, object, text } from '../fields.ts';
import { endOf, type KitRun, type PlayedRun, runWithKit } from '../kit-run.ts';
import { toTheirResult } from '../result-notation.ts';
import { toAnswer } from '../scripted-answers.ts';

/** The default and only instruction of the ReAct agent of the seed. */
export const INSTRUCTIONS = ["You are a helpful AI assistant. Use the provided tools to solve the user's request. Think step-by-step."];

/** The purpose of the agent of the cases. */
export const DESCRIPTION = 'Answers questions with its tools.';

const TOOLS: readonly ToolDefinition<never, JsonObject>[] = [
  defineTool({
    name: 'add',
    description: 'Adds two numbers.',
    parameters: z.object({ a: z.number(), b: z.number() }),
    execute: ({ a, b }) => String(a + b),
  }),
  defineTool({
    name: 'bad',
    description: 'Fails.',
    parameters: z.looseObject({}),
    // The seed does not try a call again.
    maxAttempts: 1,
    execute: () => {
      throw new Error('boom');
    },
  }),
  defineTool({
    name: 'soft',
    description: 'Reports a failure.',
    parameters: z.looseObject({}),
    execute: () => toolOutput('soft failure', { isError: true }),
  }),
  defineTool({ name: 'two', description: 'Gives two texts.', parameters: z.looseObject({}), execute: () => toolOutput(['a', 'b']) }),
  defineTool({ name: 'nothing', description: 'Gives nothing.', parameters: z.looseObject({}), execute: () => toolOutput([]) }),
  defineTool({ name: 'raw', description: 'Is a schema alone.', parameters: z.looseObject({}), execute: 'none' }),
];

/** The keys of a result in the notation of the cases. */
export const RESULT_KEYS = Object.keys(toTheirResult(newRunResult({ agentName: 'agent', runId: 'run' })));

/** A whole run of the agent "agent", as the dictionary of its result. */
export const reactRun: Operation = {
  input: ['model', 'tools', 'max_iterations'],
  expect: [...RESULT_KEYS, 'memory_roles', 'calls'],
  perform: runReactCase,
};

/** Runs the agent "agent" once. */
export function playReact(input: JsonObject): Promise<PlayedRun> {
  return runWithKit(reactKitRun(input));
}

/** Returns the run of the agent "agent" of a case. */
export function reactKitRun({ model, tools, max_iterations }: JsonObject): KitRun {
  const defined = list(tools).map((name) => toolNamed(text(name)));
  const agent = defineAgent({
    name: 'agent',
    description: DESCRIPTION,
    model: 'scripted/model',
    instructions: INSTRUCTIONS,
    tools: defined,
  });
  return {
    agent,
    // The ids of the seed's runs are UUIDs; the product leaves them to the caller.
    runId: randomUUID(),
    script: list(model).map(toAnswer),
    input: 'Q',
    steps: number(max_iterations, 10),
  };
}

async function runReactCase(input: JsonObject, expect: JsonValue): Promise<JsonObject> {
  const played = await playReact(input);
  const expectedCalls = isJsonObject(expect) ? list(expect['calls']) : [];
  return {
    ...withGivenIds(toTheirResult(endOf(played)), played.givenIds),
    memory_roles: memoryRoles(played),
    calls: played.requests.map((request, index) => toTheirCall(request, expectedCalls[index])),
  };
}

function toolNamed(name: string): ToolDefinition<never, JsonObject> {
  const tool = TOOLS.find((one) => one.name === name);
  if (tool === undefined) throw new CaseProblem(`The case uses a tool that the adapter does not know: "${name}"`);
  return tool;
}

function withGivenIds(result: JsonObject, givenIds: PlayedRun['givenIds']): JsonObject {
  const steps = list(result['steps']).map((step) => ({ ...object(step), tool_calls: list(object(step)['tool_calls']).map(object) }));
  const named = steps.map((step) => ({
    ...step,
    tool_calls: step.tool_calls.map((record) => ({
      ...record,
      call_id: givenIds.get(text(record['call_id'])) ?? record['call_id'] ?? null,
    })),
  }));
  return { ...result, steps: named };
}

/** The conversation after the run, as the model would see it. */
function memoryRoles({ requests, events }: PlayedRun): string[] {
  return buildChatMessages(
    requests[0]?.instructions ?? INSTRUCTIONS,
    events.flatMap(({ content }) => content),
  ).map(({ role }) => role);
}

/** The request that the model client got, in the notation of the case: names or schemas of tools, roles or whole messages. */
function toTheirCall({ instructions, conversation, tools, settings }: ModelRequest, expected: JsonValue | undefined): JsonObject {
  const { messages: expectedMessages, tools: expectedTools } = isJsonObject(expected) ? expected : {};
  const messages = buildChatMessages(
    instructions,
    conversation.flatMap(({ content }) => content),
  );
  const inRoles = list(Array.isArray(expectedMessages) ? expectedMessages : undefined).some((message) => typeof message === 'string');
  const inNames = list(Array.isArray(expectedTools) ? expectedTools : undefined).some((tool) => typeof tool === 'string');
  const schemas = tools.map(({ name, description, parameters }) => ({
    type: 'function',
    name,
    function: { name, description, parameters },
  }));
  return {
    messages: inRoles ? messages.map(({ role }) => role) : (JSON.parse(JSON.stringify(messages)) as JsonValue),
    // For a call without tools, the seed has no tools; for their number, it has 0.
    tools: tools.length === 0 && typeof expectedTools !== 'number' ? null : inNames ? tools.map(({ name }) => name) : schemas,
    tool_choice: typeof settings.toolChoice === 'string' ? settings.toolChoice : null,
  };
}
