import { afterAll, describe, expect, inject, test } from 'vitest';
import { assertSameRun, durableTest, testAgent, type TestedRun } from '../../../src/testing/index.ts';
import { matrixSample } from '../../matrix-sample.ts';
import { SCENARIOS } from '../../testing/scenarios/index.ts';
import { asking, observed } from './observed.ts';

const scenarios = matrixSample(SCENARIOS);

const worker = { workflowBundle: { codePath: inject('workflowBundlePath') } };
const cpu = process.cpuUsage();

afterAll(() => {
  const { user, system } = process.cpuUsage(cpu);
  process.stderr.write(`[kits] ${scenarios.length} scenarios took ${((user + system) / 1e6).toFixed(0)} s of CPU\n`);
});

describe.concurrent('a run in memory and a run on a server give the same results', () => {
  test.each(scenarios)('$name', { timeout: 120_000 }, async ({ agent, options }) => {
    const [memory, server] = [asking(options()), asking(options())];
    const inMemory = await testAgent(agent, memory.options);
    const onServer = await durableTest(agent, {
      ...server.options,
      address: inject('temporalAddress'),
      namespace: inject('temporalNamespace'),
      worker,
      timeout: '90s',
    });
    assertSameRun(onServer, inMemory);
    expect(observed(onServer, server.asked)).toEqual(observed(inMemory, memory.asked));
    expect(effectsOf(onServer)).toEqual(effectsOf(inMemory));
  });
});

/** Effects are sorted: overlapping calls have no order. */
function effectsOf({ ledger }: TestedRun<unknown>): string[] {
  return ledger.acts.map(({ what }) => what).toSorted();
}
