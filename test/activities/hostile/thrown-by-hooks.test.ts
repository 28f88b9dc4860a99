import { defaultFailureConverter, defaultPayloadConverter, ensureApplicationFailure } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createActivities } from '../../../activities/create-activities.ts';
import { SecretVault } from '../../../activities/secret-vault.ts';
import type { DecidedCall, PendingApproval } from '../../../src/core/domain/approvals.ts';
import { isErrorCode } from '../../../src/core/domain/errors.ts';
import type { Folded } from '../../../src/core/domain/window.ts';
import { ACTIVITIES, QUERIES, type RunToolInput } from '../../../src/core/protocol.ts';
import { resource } from '../../../src/define/resources.ts';
import { defineAgent, defineTool, type ToolOptions } from '../../../src/index.ts';
import type { ArchiveSink } from '../../../src/stores/file-archive.ts';
import type { PayloadStore } from '../../../src/stores/payload-store.ts';
import { callTool, say, scriptedModel } from '../../../src/testing/index.ts';
import { snapshotOf } from '../../fakes/snapshot.ts';
import { activityEnvironment, type EnvironmentOptions } from '../activity-environment.ts';
import { THROWN } from './thrown-values.ts';

/** A user's function that throws a value of the test. */
type Thrower = () => never;

/** Runs one activity as a worker does, with a hook that throws. */
type HookRun = (thrower: Thrower) => Promise<unknown>;

type ActOptions = Partial<ToolOptions<z.ZodObject, Record<string, unknown>, unknown>>;

const EVENTS: Folded[] = [
  { id: 'e0', author: 'user', content: [{ type: 'message', role: 'user', content: 'Q' }] },
  { id: 'e1', author: 'clerk', content: [{ type: 'tool_call', toolCallId: 'c1', name: 'act', arguments: {} }] },
];

const CALL: RunToolInput = { agentName: 'clerk', callId: 'c1', step: 1, at: [1, 0], eventId: 'e1', arguments: {}, timeoutMs: 60_000 };

const DECISION: DecidedCall = {
  id: 'd1',
  type: 'approve',
  callId: 'c1',
  toolName: 'act',
  digest: 'digest',
  by: 'ann',
  source: 'update',
  at: '2026-01-01T00:00:00.000Z',
};

const WAITING: PendingApproval = {
  kind: 'tool',
  callId: 'c1',
  toolName: 'act',
  digest: 'digest',
  key: 'e1/0',
  step: 1,
  requestedAt: 0,
};

const ANSWERS = {
  [QUERIES.data]: { deps: {}, state: {} },
  [QUERIES.context]: { events: [{ id: 'e0' }] },
  [QUERIES.steps]: { firstIndex: 0, total: 0, steps: [] },
  [QUERIES.status]: { about: { agentName: 'clerk' } },
};

interface Hooked extends EnvironmentOptions {
  act?: ActOptions;
  instructions?: () => string;
}

/** Runs the named activity in an environment with these hooks, with the arguments that it needs. */
async function runActivity(
  name: string,
  input: (digest: string) => object,
  { act = {}, instructions, ...environment }: Hooked,
): Promise<unknown> {
  const tool = defineTool({ name: 'act', description: 'Acts', parameters: z.object({}), execute: () => 'acted', ...act });
  const agent = defineAgent({ name: 'clerk', model: 'scripted/m', tools: [tool], ...(instructions === undefined ? {} : { instructions }) });
  const { runtime, run } = activityEnvironment({
    agents: [agent],
    events: EVENTS,
    answers: ANSWERS,
    ...environment,
    info: { activityType: name, attempt: 1, retryPolicy: { maximumAttempts: 3 }, ...environment.info },
  });
  const snapshot = snapshotOf(agent);
  runtime.snapshots.add(snapshot);
  const activity = createActivities(runtime)[name] as (given: object) => Promise<unknown>;
  return run(activity, input(snapshot.digest));
}

function runTool(hooked: Hooked): Promise<unknown> {
  return runActivity('act', () => CALL, hooked);
}

const asking = (agent: string): object => ({ agent, through: 2, lastEventId: 'e1' });

function archive(append: ArchiveSink['append']): ArchiveSink {
  return { append, deleteRun: () => Promise.resolve(), runsOf: () => Promise.resolve([]), async *read() {} };
}

function payloadStore(store: PayloadStore['store']): PayloadStore {
  const missing = (): never => {
    throw new Error('nothing is read in these tests');
  };
  return { name: 'files', type: 'files', store, retrieve: missing, deleteRun: () => Promise.resolve() };
}

/** The hooks whose failures fail their activity, with the code for a failure without its own code. */
const FAILING: readonly [hook: string, code: string, run: HookRun][] = [
  [
    'the instructions of an agent',
    'instructions_failed',
    (instructions) => runActivity(ACTIVITIES.resolveAgent, () => ({ agent: 'clerk' }), { instructions }),
  ],
  [
    'a model',
    'model_client_failed',
    (call) => runActivity(ACTIVITIES.callModel, asking, { model: { capabilities: { structuredOutput: true }, call } }),
  ],
  [
    'the model of a summary',
    'model_client_failed',
    (call) =>
      runActivity(ACTIVITIES.summarize, (agent) => ({ ...asking(agent), head: -1, tail: null, maxBytes: 1_000 }), {
        model: { capabilities: { structuredOutput: true }, call },
      }),
  ],
  [
    'an archive',
    'archive_failed',
    (append) => runActivity(ACTIVITIES.archiveEvents, () => ({ from: 0, through: 1 }), { archive: archive(append) }),
  ],
  [
    '"notify"',
    'notification_failed',
    (notify) =>
      runActivity(
        ACTIVITIES.notifyWaiting,
        () => ({ agentName: 'clerk', notificationId: 'n1', waiting: WAITING, at: [1, 0], eventId: 'e1' }),
        { notify },
      ),
  ],
  [
    '"verify" of a tool',
    'verification_failed',
    (verify) => runActivity(ACTIVITIES.verifyCall, () => ({ ...CALL, tool: 'act' }), { act: { effect: 'once', verify } }),
  ],
  ['a tool that has attempts left', 'tool_failed', (execute) => runTool({ act: { execute } })],
  [
    'the resource that a tool needs',
    'resource_unavailable',
    (open) => runTool({ act: { resources: ['db'] }, resources: { db: resource({ open, lazy: true }) } }),
  ],
];

/** The hooks whose failures become part of a result: a refusal, an answer for the model, a call that needs a decision. */
const ANSWERED: readonly [hook: string, run: HookRun][] = [
  [
    '"authorize"',
    (authorize) =>
      runActivity(ACTIVITIES.authorizeDecision, () => ({ agentName: 'clerk', decision: DECISION, at: [1, 0], eventId: 'e1' }), {
        authorize,
      }),
  ],
  ['a tool in its last attempt', (execute) => runTool({ act: { execute }, info: { attempt: 3 } })],
  ['a tool that acts once', (execute) => runTool({ act: { execute, effect: 'once' } })],
  ['a local tool', (execute) => runTool({ act: { execute, tier: 'local' }, info: { isLocal: true, attempt: 3 } })],
  ['the schema of a tool', (refuse) => runTool({ act: { parameters: z.object({}).refine(refuse) }, info: { attempt: 3 } })],
  [
    'a schema that may change arguments, as the model has answered',
    (transform) =>
      runActivity(ACTIVITIES.callModel, asking, {
        act: { parameters: z.object({ a: z.string().default('a').transform(transform) }) },
        model: scriptedModel([callTool('act'), say('done')]),
      }),
  ],
  [
    'a schema that may change arguments, of an edited call',
    (transform) =>
      runActivity(ACTIVITIES.parseArguments, (agent) => ({ agent, tool: 'act', arguments: {}, of: 'd1' }), {
        act: { parameters: z.object({ a: z.string().default('a').transform(transform) }) },
      }),
  ],
  [
    'a source of secrets',
    (source) => runTool({ act: { execute: (_, { secret }) => secret('token') }, secrets: new SecretVault(source), info: { attempt: 3 } }),
  ],
  [
    'a payload store',
    (store) =>
      runTool({ act: { execute: () => 'x'.repeat(100_000), overflow: 'spill', maxResultBytes: 1_000 }, payloadStore: payloadStore(store) }),
  ],
  [
    'an approval predicate, as the model has answered',
    (approval) => runActivity(ACTIVITIES.callModel, asking, { act: { approval }, model: scriptedModel([callTool('act'), say('done')]) }),
  ],
  [
    'an approval predicate, asked again',
    (approval) => runActivity(ACTIVITIES.reevaluateApproval, (agent) => ({ ...CALL, agent, tool: 'act' }), { act: { approval } }),
  ],
];

/** The outcome of an activity, as its worker reports it to the server. */
type Reported =
  | { type: 'completed'; bytes: number }
  | { type: 'failed'; bytes: number; failureType: string; nonRetryable: boolean; message: string; waitMs: number | undefined };

/** Encodes the outcome of an activity with the converters and the wire format of a worker. Throws if a worker would crash. */
async function asReported(running: Promise<unknown>): Promise<Reported> {
  let thrown: unknown;
  try {
    const payload = defaultPayloadConverter.toPayload(await running);
    return { type: 'completed', bytes: payload.data?.length ?? 0 };
  } catch (error) {
    thrown = error;
  }
  const { Failure } = temporal.api.failure.v1;
  const failure = defaultFailureConverter.errorToFailure(ensureApplicationFailure(thrown), defaultPayloadConverter);
  requireText(failure);
  const encoded = Failure.encode(failure).finish();
  const { message, applicationFailureInfo } = Failure.decode(encoded);
  const delay = applicationFailureInfo?.nextRetryDelay;
  return {
    type: 'failed',
    bytes: encoded.length,
    failureType: applicationFailureInfo?.type ?? '',
    nonRetryable: applicationFailureInfo?.nonRetryable === true,
    message: message ?? '',
    waitMs: delay === undefined || delay === null ? undefined : Number(delay.seconds) * 1_000 + (delay.nanos ?? 0) / 1_000_000,
  };
}

/** The wire format accepts texts that are not UTF-8, but the native core of a worker does not. */
function requireText(failure: temporal.api.failure.v1.IFailure): void {
  const { message, stackTrace, cause, applicationFailureInfo } = failure;
  for (const text of [message, stackTrace, applicationFailureInfo?.type]) {
    if (text !== undefined && text !== null && (typeof text !== 'string' || !text.isWellFormed())) throw new Error('a text is no UTF-8');
  }
  if (cause !== undefined && cause !== null) requireText(cause);
}

/** The largest size of a failure and of an answer about it, well below the limit of a server. */
const MOST_BYTES = 250_000;

/** The largest size of a result, such as the answer of a model. */
const MOST_RESULT_BYTES = 1_900_000;

/** The failure types that are allowed besides the code of the activity: types that the user's function chose, and cancellations. */
const CHOSEN = /^(?:Mine|T.*|model_rate_limited|CancelledFailure|AbortError)$/s;

const DAY_MS = 24 * 60 * 60 * 1_000;

/** Runs a hook that does this with each of the values; returns the outcomes, by the value. */
async function eachReported(run: HookRun, act: (make: () => unknown) => () => never): Promise<[what: string, reported: Reported][]> {
  const all: [string, Reported][] = [];
  for (const [what, make] of THROWN) all.push([what, await asReported(run(act(make)))]);
  return all;
}

const throwing = (make: () => unknown) => (): never => {
  throw make();
};

const returning = (make: () => unknown) => (): never => make() as never;

test.each(FAILING)('%s fails its activity with a failure that a worker can report, for any thrown value', async (_hook, code, run) => {
  const reported = await eachReported(run, throwing);
  expect(reported.filter(([, one]) => !isClear(one, code))).toEqual([]);
  expect(reported).toHaveLength(THROWN.length);
});

test.each(ANSWERED)('%s gets a result as its answer, for any thrown value', async (_hook, run) => {
  const reported = await eachReported(run, throwing);
  expect(reported.filter(([, { type, bytes }]) => type !== 'completed' || bytes > MOST_BYTES)).toEqual([]);
  expect(reported).toHaveLength(THROWN.length);
});

describe.each([...FAILING.map(([hook, , run]) => [hook, run] as const), ...ANSWERED])('%s', (_hook, run) => {
  test('may return any value: its worker can report the outcome', async () => {
    const reported = await eachReported(run, returning);
    expect(reported.filter(([, one]) => !isKnown(one))).toEqual([]);
    expect(reported).toHaveLength(THROWN.length);
  });
});

function isClear(reported: Reported, code: string): boolean {
  if (reported.type !== 'failed') return false;
  const { bytes, failureType, message, waitMs = 0 } = reported;
  return bytes <= MOST_BYTES && (failureType === code || CHOSEN.test(failureType)) && message !== '' && waitMs >= 0 && waitMs <= DAY_MS;
}

function isKnown(reported: Reported): boolean {
  if (reported.bytes > MOST_RESULT_BYTES) return false;
  return reported.type === 'completed' || isErrorCode(reported.failureType) || reported.failureType === 'tool_failed';
}
