import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, test } from 'vitest';
import { AbortRegistry } from '../../activities/abort-registry.ts';
import { ToolTurns } from '../../activities/tool-turns.ts';
import { AgentRegistry } from '../../activities/agent-registry.ts';
import { McpPool } from '../../activities/mcp/mcp-pool.ts';
import { resolveAgentActivity } from '../../activities/resolve-agent.ts';
import type { AgentSnapshot } from '../../src/domain/agent-snapshot.ts';
import type { ResolveAgentInput } from '../../src/protocol.ts';
import { SnapshotCache } from '../../activities/run-snapshot.ts';
import type { ActivityRuntime } from '../../activities/runtime.ts';
import { SecretVault } from '../../activities/secret-vault.ts';
import { TranscriptCache } from '../../activities/transcript.ts';
import { WaitedFor } from '../../activities/waited-for.ts';
import { defineAgent } from '../../src/index.ts';
import { scriptedModel } from '../../src/testing/index.ts';
import { poolOf } from './activity-world.ts';

const clerk = defineAgent({ name: 'clerk', model: 'p/m', limits: { totalTokens: 1_000 } });

function runtime(changes: Partial<ActivityRuntime> = {}): ActivityRuntime {
  return {
    registry: new AgentRegistry([clerk], { p: scriptedModel([]) }),
    resourcePool: poolOf({}),
    secrets: new SecretVault(),
    mcp: new McpPool(() => Promise.reject(new Error('no MCP servers'))),
    otherActivities: new Set(),
    payloadStore: undefined,
    archive: undefined,
    archiveTimeoutMs: 300_000,
    authorize: undefined,
    notify: undefined,
    prices: {},
    transcripts: new TranscriptCache(1_000),
    snapshots: new SnapshotCache(),
    aborts: new AbortRegistry(),
    turns: new ToolTurns(),
    continueAsNew: undefined,
    upgradeOnContinueAsNew: false,
    identity: 'worker-1',
    missingTimeoutMs: 600_000,
    waitedFor: new WaitedFor(),
    heartbeatMs: 5_000,
    searchAttributes: () => Promise.resolve({ agentAndStatus: false, waitingFor: false }),
    ...changes,
  };
}

/** The activity, as Temporal would run it. */
function resolving(by: ActivityRuntime): (input: ResolveAgentInput) => Promise<AgentSnapshot> {
  const activity = resolveAgentActivity(by);
  return (input) => new MockActivityEnvironment().run(activity, input);
}

test('the limits of the start reach the snapshot, over those of the agent', async () => {
  const resolve = resolving(runtime());
  const snapshot = await resolve({ agent: 'clerk', maxIterations: 3, limits: { toolCalls: 2, deadlineMs: 60_000 } });
  expect(snapshot.limits).toEqual({ maxIterations: 3, finalAttempt: false, totalTokens: 1_000, toolCalls: 2, deadlineMs: 60_000 });
});

test('what the worker has beside its agents is in the snapshot: hooks, prices, and the attributes of the namespace', async () => {
  const prices = { 'p/m': { input: 1, output: 2 } };
  const resolve = resolving(
    runtime({
      authorize: () => ({ as: 'somebody' }),
      notify: () => undefined,
      prices,
      searchAttributes: () => Promise.resolve({ agentAndStatus: true, waitingFor: true }),
    }),
  );
  expect(await resolve({ agent: 'clerk' })).toMatchObject({
    authorize: true,
    notify: true,
    prices,
    searchAttributes: true,
    waitingForAttribute: true,
  });
});

test('a worker without any of them pins none of them', async () => {
  const snapshot = await resolving(runtime())({ agent: 'clerk' });
  expect(snapshot).toHaveProperty('searchAttributes', false);
  for (const name of ['authorize', 'notify', 'prices', 'waitingForAttribute']) expect(snapshot).not.toHaveProperty(name);
});

test('a run whose limit in dollars could not hold is refused for good', async () => {
  const resolve = resolving(runtime());
  await expect(resolve({ agent: 'clerk', limits: { costUsd: 1 } })).rejects.toMatchObject({
    type: 'invalid_agent',
    nonRetryable: true,
    message: expect.stringContaining('the price of model "p/m" is not known'),
  });
});

test('deps with what looks like a secret are refused for good, with the path', async () => {
  const resolve = resolving(runtime());
  await expect(resolve({ agent: 'clerk', deps: { crm: { apiKey: 'v8-Kq2' } } })).rejects.toMatchObject({
    type: 'invalid_input',
    nonRetryable: true,
    message: expect.stringMatching(/^The run cannot start: deps\.crm\.apiKey is a text under the name of a credential/),
  });
});
