import { describe, expect, test } from 'vitest';
import { defined } from '../../src/core/domain/json.ts';
import type { AnyAgent } from '../../src/define/agent-definition.ts';
import { assertTimeline, testAgent } from '../../src/testing/index.ts';
import { SCENARIOS } from './scenarios/index.ts';

/** Returns the agent with bursts of this many steps, and with tools that have a category. */
function bursting(agent: AnyAgent, steps: number, category?: 'read'): AnyAgent {
  const tools = agent.tools.map((tool) => ({ ...defined({ category }), ...tool }));
  return { ...agent, tools, burst: { steps, bytes: 32_000, seconds: 60 } };
}

describe.each([1, 2, 16])('in bursts of %d', (steps) => {
  test.each(SCENARIOS)('$name', async ({ agent, options, timeline, status }) => {
    const run = await testAgent(bursting(agent, steps), options());
    assertTimeline(run, timeline);
    expect(run.result.status).toBe(status);
  });
});

/** Between these steps, the server has not stored what a tool has read: the next worker reads it again. */
const READS_AGAIN = 'a worker that dies between two steps costs nothing';

describe('in bursts with tools that only read', () => {
  test.each(SCENARIOS)('$name', async ({ name, agent, options, timeline, status }) => {
    const run = await testAgent(bursting(agent, 16, 'read'), options());
    assertTimeline(run, name === READS_AGAIN ? timeline.map((line) => (line === 'look: seen' ? 'look: seen again' : line)) : timeline);
    expect(run.result.status).toBe(status);
  });

  test('there is the step that reads again', () => expect(SCENARIOS.map(({ name }) => name)).toContain(READS_AGAIN));
});
