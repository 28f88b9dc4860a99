import type { AnyAgent } from '../../../src/define/agent-definition.ts';
import type { Event } from '../../../src/core/domain/record.ts';
import { isToolCall } from '../../../src/core/domain/content.ts';
import type { JsonObject } from '../../../src/core/domain/json.ts';
import type { ModelCallContext, ModelClient, ModelResponse } from '../../../src/core/domain/model.ts';
import type { Duration } from '../../../src/core/domain/time.ts';
import type { RunResult } from '../../../src/core/domain/result.ts';
import type { StreamSink } from '../../../src/streams/stream-sink.ts';
import {
  type Decide,
  isUndecidedRun,
  type Occurrence,
  type ScriptEntry,
  scriptedModel,
  testAgent,
  type TestedRecord,
} from '../../../src/testing/index.ts';

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
