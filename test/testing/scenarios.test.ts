import { describe, expect, test } from 'vitest';
import { assertTimeline, testAgent } from '../../src/testing/index.ts';
import { SCENARIOS } from './scenarios/index.ts';

describe('in memory', () => {
  test.each(SCENARIOS)('$name', async ({ agent, options, timeline, status }) => {
    const run = await testAgent(agent, options());
    assertTimeline(run, timeline);
    expect(run.result.status).toBe(status);
  });
});
