import { type FeedSources, RunFeed } from '../../../src/client/stream/run-feed.ts';
import type { StreamItem } from '../../../src/client/stream/stream-item.ts';
import { streamRun } from '../../../src/client/stream/stream-run.ts';
import { isToolCall } from '../../../src/core/domain/content.ts';
import type { JsonObject, JsonValue } from '../../../src/core/domain/json.ts';
import type { ModelCallContext, ModelClient, ModelResponse, RawToolCall } from '../../../src/core/domain/model.ts';
import { completesStep, type Event } from '../../../src/core/domain/record.ts';
import type { RunResult } from '../../../src/core/domain/result.ts';
import type { StreamEntry } from '../../../src/core/domain/stream.ts';
import type { Duration } from '../../../src/core/domain/time.ts';
import type { AnyAgent } from '../../../src/define/agent-definition.ts';
import type { StreamRead, StreamSink } from '../../../src/streams/stream-sink.ts';
import {
  type Decide,
  failWith,
  isUndecidedRun,
  malformed,
  type Occurrence,
  scriptedModel,
  type ScriptEntry,
  testAgent,
  type TestedRecord,
} from '../../../src/testing/index.ts';
import { CaseProblem, list, object, only, said, text } from './adapter.ts';
import { toOurUsage } from './result-notation.ts';

/** A run of a case. */
export interface KitRun {
  agent: AnyAgent;
  /** The last entry repeats, and a case may give more entries than the run asks for. */
  script: readonly ScriptEntry[];
  input: string;
  runId?: string;
  /** The limit of steps. */
  steps: number;
  deps?: JsonObject;
  decide?: Decide;
  meanwhile?: readonly Occurrence[];
  /** Limit of real time. Default: less than the time limit of a case. */
  timeout?: Duration;
  /** Called with each answer of the model before the run gets it. */
  answering?: (conversationLength: number) => void;
  /** Carries what the model reports before its answer. */
  streams?: StreamSink;
  /** Reports the pieces of an answer, before the run gets it. */
  report?: (answer: ModelResponse, onDelta: NonNullable<ModelCallContext['onDelta']>) => Promise<void> | void;
}

/** A run of a case after `testAgent`. */
export interface PlayedRun extends TestedRecord {
  /** Undefined if the run waits for a decision that the case does not give. */
  result: RunResult<unknown> | undefined;
  /** The id that the model gave to a call, by the id under which it was recorded. */
  givenIds: ReadonlyMap<string, string>;
}

/** Runs an agent with `testAgent`. */
export async function runWithKit({ agent, script, answering, report, steps, timeout = '9s', ...options }: KitRun): Promise<PlayedRun> {
  const scripted = scriptedModel(script, { repeatLast: true });
  const answers: ModelResponse[] = [];
  const model: ModelClient = {
    capabilities: scripted.capabilities,
    call: async (request, context) => {
      const answer = await scripted.call(request, context);
      answers.push(answer);
      answering?.(request.conversation.length);
      await report?.(answer, context.onDelta ?? (() => undefined));
      return answer;
    },
  };
  const tested = await testAgent<AnyAgent>(agent, { ...options, limits: { steps }, model, timeout }).catch((error: unknown) => {
    if (isUndecidedRun(error)) return { ...error.record, result: undefined };
    throw error;
  });
  return { ...tested, givenIds: givenIds(tested.events, answers) };
}

/** Returns the result of a run that has to have ended. */
export function endOf({ result }: PlayedRun): RunResult<unknown> {
  if (result === undefined) throw new Error('The run waits for a decision');
  return result;
}

/** A script that repeats an answer repeats its call ids; ids are unique in a run, and the cases know the given ones. */
function givenIds(events: readonly Event[], answers: readonly ModelResponse[]): Map<string, string> {
  const responses = events.filter(({ usage, failed }) => usage !== undefined && failed === undefined);
  const pairs = responses.flatMap(({ content }, index) =>
    content.filter(isToolCall).map(({ toolCallId }, call) => [toolCallId, answers[index]?.toolCalls[call]?.id] as const),
  );
  return new Map(pairs.filter((pair): pair is readonly [string, string] => typeof pair[1] === 'string' && pair[1] !== ''));
}

/** Translates an entry of `replies`: content items, or an error. */
export function toReply(reply: JsonValue): ScriptEntry {
  if (!Array.isArray(reply)) return failWith('model_error', text(only('A reply', reply, ['error_message'])['error_message']));
  const texts: string[] = [];
  const calls: RawToolCall[] = [];
  for (const item of reply.map(object)) {
    if (item['type'] === 'message') texts.push(text(only('A message', item, ['type', 'role', 'content'])['content']));
    else if (item['type'] === 'tool_call') calls.push(toCallOfReply(item));
    else throw new CaseProblem(`A reply has an item of type ${JSON.stringify(item['type'])}, which the adapter does not know`);
  }
  return exactly({ content: texts.join('\n'), toolCalls: calls, usage: null, finishReason: calls.length > 0 ? 'tool_calls' : 'stop' });
}

function toCallOfReply(item: JsonObject): RawToolCall {
  const { tool_call_id: id, name, ...given } = only('A tool call', item, ['type', 'tool_call_id', 'name', ...ARGUMENTS]);
  return rawCall(id, name, argumentsOf(given));
}

const ANSWER = ['text', 'tool_calls', 'usage', 'finish_reason', 'error'];

/** Translates an entry of `model`: text, tool calls, usage and finish reason, or an error. */
export function toAnswer(entry: JsonValue): ScriptEntry {
  const { text: content, tool_calls, usage, finish_reason, error } = only('An entry of "model"', entry, ANSWER);
  if (error !== undefined) return failWith('model_error', said(error));
  const calls = list(tool_calls).map((call) => toRawCall(object(call)));
  return exactly({
    content: text(content),
    toolCalls: calls,
    usage: usage === undefined || usage === null ? null : toOurUsage(usage),
    finishReason: text(finish_reason, calls.length > 0 ? 'tool_calls' : 'stop'),
  });
}

/** `invalid_arguments` is the raw text of the model's arguments. */
const ARGUMENTS = ['arguments', 'invalid_arguments'];

function toRawCall(call: JsonObject): RawToolCall {
  const { id, name, function: nested, ...given } = only('A tool call', call, ['id', 'type', 'name', 'function', ...ARGUMENTS]);
  if (nested === undefined) return rawCall(id, name, argumentsOf(given));
  const inner = only('The function of a tool call', nested, ['name', ...ARGUMENTS]);
  return rawCall(id, inner['name'], argumentsOf(inner));
}

function argumentsOf({ arguments: args, invalid_arguments: raw }: JsonObject): JsonValue | undefined {
  if (raw === undefined) return args;
  if (args !== undefined) throw new CaseProblem('A tool call has both "arguments" and "invalid_arguments"');
  return text(raw);
}

/** Leaves out the fields that a case leaves out: the product has to handle it. */
function rawCall(id: JsonValue | undefined, name: JsonValue | undefined, args: JsonValue | undefined): RawToolCall {
  return {
    ...(id === undefined ? {} : { id }),
    ...(name === undefined ? {} : { name }),
    ...(args === undefined ? {} : { arguments: args }),
  };
}

function exactly(response: ModelResponse): ScriptEntry {
  return malformed(response);
}

/** A sink that keeps what the worker publishes, in its order. */
class RecordingSink implements StreamSink {
  readonly name = 'recording';
  readonly entries: StreamEntry[] = [];

  open(): ReturnType<StreamSink['open']> {
    return {
      announces: false,
      publish: (_, entry) => void this.entries.push(entry),
      read: async function* nothing() {},
      removeRun: () => Promise.resolve(),
      health: () => Promise.resolve(),
      close: () => Promise.resolve(),
    };
  }
}

/** Runs an agent, and returns all items of its stream, as a reader gets them that follows it from the beginning. */
export async function streamWithKit(run: Omit<KitRun, 'streams'>): Promise<StreamItem[]> {
  const sink = new RecordingSink();
  const played = await runWithKit({ ...run, streams: sink });
  const feed = new RunFeed(sourcesOf(played, sink.entries));
  const items: StreamItem[] = [];
  const reading = streamRun({ follow: () => ({ feed, release: () => undefined }) }, endOf(played).runId, {});
  for await (const item of reading) items.push(item);
  return items;
}

/** Returns what the product reads a stream by: the record, which grows as it did during the run, and the published entries. */
function sourcesOf(played: PlayedRun, entries: readonly StreamEntry[]): FeedSources {
  const { events, steps } = played;
  const { runId, ...result } = endOf(played).toJSON();
  let recorded = 0;
  let closed = false;
  const visibleSteps = () => (closed ? steps : steps.slice(0, events.slice(0, recorded).filter(completesStep).length));
  const page: FeedSources['pages']['read'] = async ({ offset, step }) => ({
    events: events.slice(offset, recorded),
    steps: visibleSteps().slice(step),
    isLast: true,
    status: closed ? result.status : 'running',
  });
  const executionId = entries.flatMap((entry) => ('of' in entry ? [entry.of.executionId] : [entry.executionId]))[0] ?? runId;
  return {
    pages: { read: page, shared: page, ended: () => undefined, end: async () => ({ offset: 0, step: 0, status: 'running' }) },
    news: { gatherMs: 0, pauseMs: () => 1, look: async () => ({ executionId, closed, isNew: true }) },
    executions: async () => ({ ids: [executionId], isComplete: true }),
    newest: async () => ({ executionId, closed }),
    result: async () => ({ ...result, runId, output: result.output as never }),
    announced: () => true,
    async *live(): AsyncGenerator<StreamRead> {
      for (const [index, entry] of entries.entries()) {
        if ('of' in entry) recorded = Math.max(recorded, entry.of.through ?? 0);
        yield { type: 'entry', position: String(index), entry };
      }
      recorded = events.length;
      closed = true;
    },
  };
}
