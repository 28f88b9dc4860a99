import { z } from 'zod';
import { defineAgent } from '../../../src/define/define-agent.ts';
import { defineTool } from '../../../src/define/define-tool.ts';
import type { ToolDefinition } from '../../../src/define/tool-definition.ts';
import type { Event } from '../../../src/core/domain/record.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../src/core/domain/json.ts';
import type { Operation } from './adapter.ts';
import { Confirmations } from './confirmations.ts';
import { toTheirItem } from './content-notation.ts';
import { CaseProblem, list, number, text } from './fields.ts';
import { type PlayedRun, runWithKit } from './kit-run.ts';
import { toReply } from './scripted-answers.ts';

/** A whole run of the agent "a" with the tools of the suite. */
export const agentRun: Operation = {
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
