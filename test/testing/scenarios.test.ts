import { describe, expect, test } from 'vitest';
import { assertStory, testAgent } from '../../src/testing/index.ts';
import { SCENARIOS } from './scenarios/index.ts';

describe('in memory', () => {
  test.each(SCENARIOS)('$name', async ({ agent, options, story, status }) => {
    const run = await testAgent(agent, options());
    assertStory(run, story);
    expect(run.result.status).toBe(status);
  });
});
