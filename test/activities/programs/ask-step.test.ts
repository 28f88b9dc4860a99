import { ApplicationFailure } from '@temporalio/common';
import { expect, test } from 'vitest';
import { WorkerBatches } from '../../../activities/batch/worker-batches.ts';
import { openai } from '../../../activities/models/openai/openai.ts';
import { stepActivities } from '../../../activities/programs/ask-step.ts';
import type { Tier } from '../../../src/core/domain/batch.ts';
import { ATTEMPTS_USED_UP } from '../../../src/core/domain/missing-definitions.ts';
import { AgentRegistry } from '../../../activities/agents/agent-registry.ts';
import { activityEnvironment } from '../activity-environment.ts';

/** Makes an attempt of a step whose attempts before were all lost with their workers. Returns the type of its failure. */
async function attempt(number: number, { run, step }: { run?: Tier; step?: Tier }): Promise<string | null | undefined> {
  const client = openai({ apiKey: 'key' });
  const ask = { prompt: 'Sort', ...(step === undefined ? {} : { tier: step }) };
  const snapshot = {
    name: 'sorter',
    model: 'openai/gpt-5',
    tools: [],
    settings: {},
    ...(run === undefined ? {} : { tier: run }),
    timing: { modelMaxAttempts: 3, modelPatienceMs: 0 },
    program: { name: 'sorter', model: 'openai/gpt-5', units: [{ name: 'u', steps: [{ name: 'Sort', ask }] }] },
  };
  const environment = activityEnvironment({
    batches: new WorkerBatches({ openai: {} }, { openai: client }),
    registry: new AgentRegistry([], { openai: client }),
    snapshots: { load: async () => snapshot } as never,
    stepValues: { outputs: async () => new Map(), input: async () => ({}) } as never,
    info: { attempt: number, retryPolicy: {} },
  });
  const { askStep } = stepActivities(environment.runtime);
  const failure: unknown = await environment.run(askStep, { agent: 'digest', step: 'u.Sort' }).catch((error: unknown) => error);
  if (!(failure instanceof ApplicationFailure)) throw failure;
  return failure.type;
}

test.each([{ run: 'batch' }, { step: 'batch' }, { run: 'interactive', step: 'batch' }] as const)(
  'a step that waits for a batch may lose more workers before it is registered: %o',
  async (tiers) => {
    expect(await attempt(20, tiers)).toBe('Parked');
    expect(await attempt(200, tiers)).toBe(ATTEMPTS_USED_UP);
  },
);

test.each([{ run: 'interactive' }, {}, { run: 'batch', step: 'interactive' }] as const)(
  'a step that is made at once has the attempts of its agent, whatever the tier of its run: %o',
  async (tiers) => expect(await attempt(4, tiers)).toBe(ATTEMPTS_USED_UP),
);
