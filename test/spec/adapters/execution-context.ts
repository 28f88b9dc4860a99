import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { buildChatMessages } from '../../../activities/models/openai/chat-messages.ts';
import type { ContentItem } from '../../../src/core/domain/content.ts';
import { mergeBranches, mergeEvents } from '../../../src/core/domain/handoffs.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../src/core/domain/json.ts';
import {
  addEvent,
  type Event,
  type ExecutionContext,
  incrementStep,
  newEvent,
  newExecutionContext,
  setState,
} from '../../../src/core/domain/record.ts';
import type { AnyAgent } from '../../../src/define/agent-definition.ts';
import { defineAgent } from '../../../src/define/define-agent.ts';
import { defineTool } from '../../../src/define/define-tool.ts';
import { defineFlow } from '../../../src/define/flows.ts';
import type { ToolDefinition } from '../../../src/define/tool-definition.ts';
import { contentItemSchema } from '../../../src/schema/zod-schemas.ts';
import { approve, reject, say, scriptedModel, testAgent, type TestDecision, type Waiting } from '../../../src/testing/index.ts';
import { CaseProblem, flag, list, number, object, only, type Operation, type SuiteAdapter, text } from './adapter.ts';
import { type PlayedRun, runWithKit, toReply } from './kit-run.ts';
import { toOurItem, toTheirEvent, toTheirItem } from './result-notation.ts';
import { keptWording, mapTexts, parsedJsonText } from './wording.ts';

const KEYS = ['tool_call_id', 'approved', 'modified_arguments', 'reason'];

/** Translates the `confirmations` of a case into decisions of `testAgent`. */
class Confirmations {
  readonly #confirmations: readonly JsonObject[];
  /** The steps that were suspended. */
  readonly steps = new Set<number>();

  constructor(confirmations: JsonValue | undefined) {
    this.#confirmations = list(confirmations).map((one) => only('A confirmation', one, KEYS));
  }

  /** Returns the case's decision on a call. A confirmation that the run has refused is not given again. */
  readonly decide = ({ callId, step, refused }: Waiting): TestDecision | undefined => {
    this.steps.add(step);
    const confirmation = this.#confirmations.find(({ tool_call_id: id }) => id === callId);
    return confirmation === undefined || refused !== undefined ? undefined : toTestDecision(confirmation);
  };
}

function toTestDecision({ approved, modified_arguments: modified, reason }: JsonObject): TestDecision {
  if (approved === undefined) throw new CaseProblem('A confirmation does not say "approved"');
  if (flag(approved)) return approve(modified === undefined || modified === null ? {} : { arguments: object(modified) });
  const why = text(reason);
  return why === '' ? reject() : reject(why);
}

/** A whole run of the agent "a" with the tools of the suite. */
const agentRun: Operation = {
  input: ['replies', 'input', 'max_steps', 'output_type', 'confirmations'],
  expect: ['output', 'status', 'error', 'current_step', 'state', 'model_calls', 'events', 'execution_ids'],
  perform: runAgentCase,
};

async function runAgentCase(input: JsonObject, expect: JsonValue): Promise<JsonObject> {
  const { replies, input: question, max_steps, output_type, confirmations } = input;
  const confirmed = new Confirmations(confirmations);
  const steps = number(max_steps, 10);
  let events = 0;
  const agent = defineAgent({
    name: 'a',
    model: 'scripted/model',
    instructions: [],
    tools: suiteTools(() => events),
    // The book sends a bad answer back until the steps are used up.
    ...(output_type === undefined || output_type === null
      ? {}
      : { output: toZod(output_type), outputMode: 'final_answer' as const, outputRetries: steps }),
  });
  const played = await runWithKit({
    agent,
    script: list(replies).map(toReply),
    input: text(question, 'Q'),
    steps,
    decide: confirmed.decide,
    // A tool of the product does not see the record, which holds the model's requests and the response.
    answering: (conversationLength) => (events = conversationLength + 1),
  });
  return toTheirRun(played, { suspended: confirmed.steps, expectedStatus: isJsonObject(expect) ? expect['status'] : undefined });
}

/** `search`, `boom`, `peek`, and `danger`, whose calls need a confirmation. */
function suiteTools(countEvents: () => number): ToolDefinition<never, JsonObject>[] {
  return [
    defineTool({
      name: 'search',
      description: 'Searches.',
      parameters: z.object({ query: z.string() }),
      execute: ({ query }) => `R:${query}`,
    }),
    defineTool({
      name: 'boom',
      description: 'Fails.',
      parameters: z.object({ x: z.unknown() }),
      // The book does not try a call again.
      maxAttempts: 1,
      execute: () => {
        throw new Error('bad input');
      },
    }),
    defineTool({
      name: 'peek',
      description: 'Counts the events, and how often it was called.',
      updates: ['n'],
      parameters: z.object({ key: z.unknown() }),
      execute: (_, context) => {
        context.setState('n', Number(context.state['n'] ?? 0) + 1);
        return countEvents();
      },
    }),
    defineTool({
      name: 'danger',
      description: 'Deletes a file.',
      parameters: z.object({ path: z.string() }),
      approval: 'always',
      execute: ({ path }) => `deleted ${path}`,
    }),
  ];
}

/** An output type of the cases: a type name, or an object of them. */
function toZod(type: JsonValue): z.ZodType {
  if (Array.isArray(type)) return z.array(toZod(type[0] ?? null));
  if (isJsonObject(type)) return z.object(Object.fromEntries(Object.entries(type).map(([key, member]) => [key, toZod(member)])));
  const known = TYPES.get(type);
  if (known === undefined) throw new CaseProblem(`The case uses an output type that the adapter does not know: ${JSON.stringify(type)}`);
  return known;
}

/** The type names of the cases. */
const TYPES = new Map<JsonValue, z.ZodType>([
  ['string', z.string()],
  ['integer', z.int()],
  ['number', z.number()],
  ['boolean', z.boolean()],
]);

/** The book has one word for a run that completed and a run that used up its steps. */
const BOOK_STATUS: Record<string, string> = { completed: 'complete', max_iterations_reached: 'complete' };

/** In the words of the book, a step that was suspended is not counted, not even once it is complete. */
function toTheirRun(
  { result, events, steps, state, requests, givenIds }: PlayedRun,
  { suspended, expectedStatus }: { suspended: ReadonlySet<number>; expectedStatus: JsonValue | undefined },
): JsonObject {
  const status = result?.status ?? 'pending_confirmation';
  return {
    // The output in the sense of the book is the final result, which only a completed run has.
    output: result?.success ? (result.output as JsonValue) : null,
    status: expectedStatus === 'complete' ? (BOOK_STATUS[status] ?? status) : status,
    error: result === undefined ? null : toTheirError(result),
    current_step: steps.filter(({ step }) => !suspended.has(step)).length,
    state,
    model_calls: requests.length,
    execution_ids: new Set(events.map(({ executionId }) => executionId)).size,
    events: events.filter(isInTheBook).map(({ author, content }) => ({
      author,
      items: content.map(toTheirItem).map(({ tool_call_id: id, ...item }) => ({
        ...item,
        ...(typeof id === 'string' ? { tool_call_id: givenIds.get(id) ?? id } : {}),
      })),
    })),
  };
}

/** The book puts its own words before the message of the model client. */
function toTheirError({ error, errorCode }: { error: string | null; errorCode: string | undefined }): string | null {
  return errorCode === 'model_error' ? `LLM request failed: ${error}` : error;
}

/** The book does not record the authors of decisions. */
function isInTheBook({ decision, refused }: Event): boolean {
  return decision === undefined && refused === undefined;
}

/** A team of agents, each with a fixed answer. */
const flowRun: Operation = {
  input: ['kind', 'agents', 'input', 'max_iterations'],
  expect: ['output', 'authors'],
  perform: ({ kind, agents, input, max_iterations }) => {
    const team = list(agents).map(agentOf);
    const question = text(input, 'Q');
    switch (kind) {
      case 'sequential':
        return inTurns(defineFlow({ name: 'flow', kind, agents: team.map(({ agent }) => agent) }), team, question);
      case 'loop': {
        const rounds = max_iterations === undefined ? {} : { maxIterations: number(max_iterations, 1) };
        return inTurns(defineFlow({ name: 'flow', kind, agents: team.map(({ agent }) => agent), ...rounds }), team, question);
      }
      case 'parallel':
        return sideBySide(team, question);
      default:
        throw new CaseProblem(`The case has a kind that the adapter does not know: ${JSON.stringify(kind)}`);
    }
  },
};

interface Member {
  agent: AnyAgent;
  output: string;
}

/** The name of the agent is also the name of its model: it finds the answer of the case. */
function agentOf(given: JsonValue): Member {
  const { name, output } = only('An agent', given, ['name', 'output']);
  return { agent: defineAgent({ name: text(name), model: `scripted/${text(name)}`, instructions: [] }), output: text(output) };
}

async function inTurns(flow: AnyAgent, team: readonly Member[], input: string): Promise<JsonObject> {
  const { capabilities } = scriptedModel([]);
  const model = {
    capabilities,
    call: async ({ model: name }: { model: string }) => {
      const member = team.find(({ agent }) => agent.name === name);
      if (member === undefined) throw new CaseProblem(`The case has no agent "${name}"`);
      return { content: member.output, toolCalls: [], usage: null, finishReason: 'stop' };
    },
  };
  const { result, events } = await testAgent(flow, { input, model });
  return { output: result.success ? (result.output as JsonValue) : null, authors: authorsOf(events) };
}

async function sideBySide(team: readonly Member[], input: string): Promise<JsonObject> {
  const runs = await Promise.all(team.map(({ agent, output }) => testAgent(agent, { input, model: scriptedModel([say(output)]) })));
  const merged = mergeBranches(
    runs.map(({ result }) => ({ ...result.toJSON(), name: result.agentName, output: result.output as JsonValue })),
  );
  return { output: merged.problem === undefined ? merged.output : null, authors: authorsOf(mergeEvents(runs.map(({ events }) => events))) };
}

function authorsOf(events: readonly Event[]): string[] {
  return events.map(({ author }) => author);
}

const CONTEXT = ['execution_id', 'events', 'authors', 'current_step', 'state', 'final_result'];

/** Suite `execution_context`: content, events, contexts, messages, and the agent built on them. */
export const executionContextSuite: Omit<SuiteAdapter, 'withoutCounterpart'> = {
  operations: {
    'content.validate': { input: ['item'], expect: ['ok', 'item', 'error'], perform: validateContent },
    'event.new': { input: ['execution_id', 'author', 'content'], expect: ['event'], perform: makeEvent },
    'context.new': { input: [], expect: CONTEXT, perform: () => toTheirContext(newExecutionContext(randomUUID())) },
    'context.ops': { input: ['do'], expect: CONTEXT, perform: useContext },
    'context.isolation': { input: ['do'], expect: ['first', 'second'], perform: isolateContexts },
    'agent.run': agentRun,
    'workflow.run': flowRun,
    'llm.build_messages': { input: ['instructions', 'contents'], expect: ['messages'], perform: buildMessages },
  },
  normalise: (expect, op) => mapTexts(expect, op === 'llm.build_messages' ? parsedJsonText : keptWording),
};

function validateContent({ item }: JsonObject): JsonObject {
  const parsed = contentItemSchema.safeParse(isJsonObject(item) ? toOurItem(item) : item);
  return parsed.success ? { ok: true, item: toTheirItem(parsed.data) } : { error: true };
}

const ITEM = ['type', 'role', 'content', 'tool_call_id', 'name', 'arguments', 'status'];

function toItem(item: JsonValue): ContentItem {
  return contentItemSchema.parse(toOurItem(only('A content item', item, ITEM)));
}

function makeEvent({ execution_id, author, content }: JsonObject): JsonObject {
  const items = list(content).map((item) => toItem(item));
  return { event: toTheirEvent(newEvent(stamp(), text(execution_id), text(author), items)) };
}

function stamp(): { id: string; now: number } {
  return { id: randomUUID(), now: Date.now() };
}

function useContext({ do: actions }: JsonObject): JsonObject {
  const context = newExecutionContext(randomUUID());
  apply(context, actions);
  return toTheirContext(context);
}

function isolateContexts({ do: actions }: JsonObject): JsonObject {
  const [first, second] = [newExecutionContext(randomUUID()), newExecutionContext(randomUUID())];
  apply(first, actions);
  return { first: toTheirContext(first), second: toTheirContext(second) };
}

function apply(context: ExecutionContext, actions: JsonValue | undefined): void {
  for (const action of list(actions)) {
    const { add_event, increment_step, set_state } = only('An action', action, ['add_event', 'increment_step', 'set_state']);
    if (add_event !== undefined) addEvent(context, newEvent(stamp(), context.executionId, text(add_event)));
    if (increment_step !== undefined) incrementStep(context);
    if (set_state !== undefined) {
      const { key, value = null } = only('A "set_state"', set_state, ['key', 'value']);
      setState(context, text(key), value);
    }
  }
}

function toTheirContext(context: ExecutionContext): JsonObject {
  return {
    execution_id: context.executionId,
    events: context.events.map(toTheirEvent),
    authors: context.events.map(({ author }) => author),
    current_step: context.currentStep,
    state: context.state,
    final_result: context.finalResult,
  };
}

function buildMessages({ instructions, contents }: JsonObject): JsonObject {
  const items = list(contents).map((item) => toItem(item));
  const messages = buildChatMessages(
    list(instructions).map((instruction) => text(instruction)),
    items,
  );
  return { messages: mapTexts(JSON.parse(JSON.stringify(messages)) as JsonValue, parsedJsonText) };
}
