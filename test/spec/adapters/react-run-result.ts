import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { buildChatMessages } from '../../../activities/models/openai/chat-messages.ts';
import { fromDocument } from '../../../src/client/saved-context.ts';
import type { StreamItem } from '../../../src/client/stream/stream-item.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../src/core/domain/json.ts';
import type { ModelRequest } from '../../../src/core/domain/model.ts';
import { isResponse } from '../../../src/core/domain/record.ts';
import { TERMINAL_STATUSES, type TerminalStatus } from '../../../src/core/domain/run.ts';
import { resultText } from '../../../src/core/domain/tool-calls.ts';
import { addUsage, noUsage } from '../../../src/core/domain/usage.ts';
import { emptyWindow, extendWindow } from '../../../src/core/domain/window.ts';
import { newRunState, type RunState } from '../../../src/core/kernel/run-state.ts';
import { contextOfRun, SAVED_VERSION, type SavedContext, type SavedMessage } from '../../../src/core/saved/saved-context.ts';
import { defineAgent } from '../../../src/define/define-agent.ts';
import { defineTool } from '../../../src/define/define-tool.ts';
import { type ToolDefinition, toolOutput } from '../../../src/define/tool-definition.ts';
import { parseToolCall } from '../../../src/model/interpret-response.ts';
import { newRunResult } from '../../core/domain/new-run-result.ts';
import { newSnapshot } from '../../fakes/snapshot.ts';
import { CaseProblem, list, number, object, only, type Operation, type SuiteAdapter, text } from './adapter.ts';
import { endOf, type KitRun, type PlayedRun, runWithKit, streamWithKit, toAnswer } from './kit-run.ts';
import { RESULT_FIELDS, toOurResult, toOurStep, toOurUsage, toTheirResult, toTheirStep, toTheirTotals } from './result-notation.ts';
import { keptWording, mapTexts } from './wording.ts';

/** The default and only instruction of the ReAct agent of the seed. */
const INSTRUCTIONS = ["You are a helpful AI assistant. Use the provided tools to solve the user's request. Think step-by-step."];

/** The purpose of the agent of the cases. */
const DESCRIPTION = 'Answers questions with its tools.';

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
const RESULT_KEYS = Object.keys(toTheirResult(newRunResult({ agentName: 'agent', runId: 'run' })));

/** A whole run of the agent "agent", as the dictionary of its result. */
const reactRun: Operation = {
  input: ['model', 'tools', 'max_iterations'],
  expect: [...RESULT_KEYS, 'memory_roles', 'calls'],
  perform: runReactCase,
};

/** Runs the agent "agent" once. */
function playReact(input: JsonObject): Promise<PlayedRun> {
  return runWithKit(reactKitRun(input));
}

/** Returns the run of the agent "agent" of a case. */
function reactKitRun({ model, tools, max_iterations }: JsonObject): KitRun {
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

const STATE = ['name', 'description', 'system_instructions', 'max_iterations', 'messages', 'roles'];

/** The state of the ReAct agent of the seed between runs: in the product, a saved context and a run that begins from it. */
const reactStateOperations: Readonly<Record<string, Operation>> = {
  'agent.save_state': { input: ['model', 'tools', 'max_iterations'], expect: ['state'], perform: save },
  'agent.load_state': { input: ['saved', 'agent_name'], expect: ['name', 'max_iterations', 'memory_roles'], perform: load },
  'agent.reset': { input: ['model', 'tools', 'max_iterations'], expect: ['memory_roles'], perform: reset },
};

async function save(input: JsonObject): Promise<JsonObject> {
  const played = await playReact(input);
  const { agentName, usage, toolCallsTotal, toolCallsNotRun, stepsUsed, limits, startTime } = endOf(played);
  const saved = contextOfRun({
    agent: { name: agentName, description: DESCRIPTION, instructions: INSTRUCTIONS },
    window: played.events.reduce(extendWindow, emptyWindow()),
    events: played.events,
    deps: {},
    usage,
    toolCallsTotal,
    toolCallsNotRun,
    currentStep: stepsUsed,
    maxIterations: limits.steps,
    startedAt: Date.parse(startTime ?? ''),
  });
  return { state: toTheirState(saved) };
}

/** In the seed, the first message of an agent's memory has its instructions. */
function toTheirState({ agent_name, agent_description, system_prompt, max_iterations, messages }: SavedContext): JsonObject {
  const whole = [{ role: 'system', content: system_prompt }, ...messages.map(toTheirMessage)];
  return {
    name: agent_name,
    description: agent_description ?? null,
    system_instructions: system_prompt,
    max_iterations,
    messages: whole,
    roles: whole.map(({ role }) => role ?? null),
  };
}

function toTheirMessage({ content, ...message }: SavedMessage): JsonObject {
  return { ...message, content: Array.isArray(content) ? resultText(content) : content };
}

/** After a run, if the case has a model. */
async function reset({ model, ...options }: JsonObject): Promise<JsonObject> {
  if (model !== undefined) endOf(await playReact({ model, ...options }));
  return { memory_roles: rolesOf(begin('agent')) };
}

function load({ saved, agent_name }: JsonObject): JsonObject {
  const agent = text(agent_name);
  const { messages, steps } = fromDocument(toDocument(saved), { agent });
  const state = begin(agent, { messages, ...(steps === undefined ? {} : { steps }) });
  return { name: state.snapshot.name, max_iterations: state.limits.steps, memory_roles: rolesOf(state) };
}

function toDocument(saved: JsonValue | undefined): JsonObject {
  const { name, description, system_instructions = null, max_iterations, messages } = only('A state', saved ?? {}, STATE);
  const said = list(messages).map(toDocumentMessage);
  const [first] = said;
  return {
    version: SAVED_VERSION,
    agent_name: name ?? null,
    agent_description: description ?? null,
    system_prompt: first?.['role'] === 'system' ? (first['content'] ?? null) : system_instructions,
    ...(max_iterations === undefined ? {} : { max_iterations }),
    messages: said,
  };
}

function toDocumentMessage(message: JsonValue): JsonObject {
  const { role, ...fields } = object(message);
  return { ...fields, role: role === 'tool_response' ? 'tool' : (role ?? null) };
}

const CLOCK = { now: () => 0, uuid: () => 'id' };

/** A run that has just begun. */
function begin(name: string, { messages = [], steps }: Partial<ReturnType<typeof fromDocument>> = {}): RunState {
  const snapshot = newSnapshot({ name, instructions: INSTRUCTIONS[0] ?? '', ...(steps === undefined ? {} : { limits: { steps } }) });
  return newRunState({ runId: 'r', snapshot, messages, startedAt: 0 }, CLOCK);
}

/** The roles of the messages that the model would see. */
function rolesOf({ snapshot, window }: RunState): string[] {
  return buildChatMessages(
    snapshot.instructions,
    window.events.flatMap(({ content }) => content),
  ).map(({ role }) => role);
}

/** A streamed run of the agent "agent": the kinds of the events of the seed, in order. */
const reactStream: Operation = {
  input: ['model', 'tools', 'max_iterations'],
  expect: ['events'],
  perform: async (input: JsonObject) => {
    const items = await streamWithKit({
      ...reactKitRun(input),
      // The provider of the cases sends the whole text of an answer at once.
      report: ({ content }, onDelta) => onDelta({ type: 'text', text: content }),
    });
    return { events: kindsOf(items) };
  },
};

/** Returns the kinds of the items in the words of the seed, which has no steps and no end in its stream. */
function kindsOf(items: readonly StreamItem[]): string[] {
  const kinds: string[] = [];
  let provisional: string[] = [];
  for (const item of items) {
    if (item.type === 'delta' && (item.delta.type === 'text' || item.delta.type === 'reasoning'))
      provisional.push(`${item.delta.type}_delta`);
    // The seed has no word for discarded output.
    if (item.type === 'reset') provisional = [];
    if (item.type !== 'event') continue;
    const { event } = item;
    kinds.push(...provisional, ...(isResponse(event) ? ['completion'] : []));
    kinds.push(...event.content.filter(({ type }) => type === 'tool_result').map(() => 'tool_result'));
    provisional = [];
  }
  return kinds;
}

const TOTALS = Object.keys(toTheirTotals(noUsage()));

/** The seed has one limit, on steps: it has no status for the others. */
const OF_OTHER_LIMITS: TerminalStatus = 'limit_reached';

const STEP = Object.keys(toTheirStep(toOurStep(1)));

/** Suite `react.run_result`: the result model and the ReAct loop. */
export const reactRunResultSuite: Omit<SuiteAdapter, 'withoutCounterpart'> = {
  operations: {
    'react.run': reactRun,
    'react.stream': reactStream,
    ...reactStateOperations,
    'react.parse_tool_call': { input: ['shape'], expect: ['call_id', 'name', 'arguments', 'error'], perform: parseCall },
    'result.summary': { input: RESULT_FIELDS, expect: [], perform: (input) => toOurResult(input).summary() },
    'result.derived': { input: RESULT_FIELDS, expect: RESULT_KEYS, perform: (input) => toTheirResult(toOurResult(input)) },
    'result.to_dict_defaults': {
      input: RESULT_FIELDS,
      expect: RESULT_KEYS,
      perform: (input) => toTheirResult(toOurResult({ agent_name: 'agent', ...input })),
    },
    'result.status_values': {
      input: [],
      expect: ['values'],
      perform: () => ({ values: TERMINAL_STATUSES.filter((status) => status !== OF_OTHER_LIMITS) }),
    },
    'usage.aggregate': { input: ['usages'], expect: TOTALS, perform: aggregate },
    'step.defaults': { input: ['step'], expect: STEP, perform: ({ step = 1 }) => toTheirStep(toOurStep(step)) },
  },
  normalise: (expect) => mapTexts(expect, (given) => (given === 'tool_response' ? 'tool' : keptWording(given))),
};

function parseCall({ shape }: JsonObject): JsonObject {
  const parsed = parseToolCall(shape);
  return { call_id: parsed.toolCallId, name: parsed.name, arguments: parsed.arguments, error: parsed.problem !== undefined };
}

function aggregate({ usages }: JsonObject): JsonObject {
  const calls = list(usages).map((usage) => (usage === null ? null : toOurUsage(usage)));
  return toTheirTotals(calls.reduce(addUsage, noUsage()));
}
