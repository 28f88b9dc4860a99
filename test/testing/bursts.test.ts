import { describe, expect, test } from 'vitest';
import type { AnyAgent } from '../../src/define/agent-definition.ts';
import { assertTimeline, testAgent } from '../../src/testing/index.ts';
import { SCENARIOS } from './scenarios/index.ts';

/** Returns the agent with bursts of so many steps. */
function bursting(agent: AnyAgent, steps: number): AnyAgent {
  return { ...agent, burst: { steps, bytes: 32_000, seconds: 60 } };
}

describe.each([1, 2, 16])('in bursts of %d', (steps) => {
  test.each(SCENARIOS)('$name', async ({ agent, options, timeline, status }) => {
    const run = await testAgent(bursting(agent, steps), options());
    assertTimeline(run, timeline);
    expect(run.result.status).toBe(status);
  });
});
