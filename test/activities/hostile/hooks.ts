import { z } from 'zod';
import { createActivities } from '../../../activities/create-activities.ts';
import { SecretVault } from '../../../activities/secret-vault.ts';
import type { ArchiveSink } from '../../../src/stores/file-archive.ts';
import { resource } from '../../../src/define/resources.ts';
import type { DecidedCall, PendingApproval } from '../../../src/core/domain/approvals.ts';
import type { Folded } from '../../../src/core/domain/window.ts';
import { defineAgent, defineTool, type ToolOptions } from '../../../src/index.ts';
import type { PayloadStore } from '../../../src/stores/payload-store.ts';
import { ACTIVITIES, QUERIES, type RunToolInput } from '../../../src/core/protocol.ts';
import { callTool, say, scriptedModel } from '../../../src/testing/index.ts';
import { snapshotOf } from '../../fakes/snapshot.ts';
import { activityEnvironment, type EnvironmentOptions } from '../activity-environment.ts';

/** A user's function that throws a value of the test. */
export type Thrower = () => never;

/** Runs one activity as a worker does, with a hook that throws. */
export type HookRun = (thrower: Thrower) => Promise<unknown>;

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
export const FAILING: readonly [hook: string, code: string, run: HookRun][] = [
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
export const ANSWERED: readonly [hook: string, run: HookRun][] = [
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
