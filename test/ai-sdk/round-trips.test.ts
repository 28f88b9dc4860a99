import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testAgent } from '../../src/testing/index.ts';
import { aiSdk } from '../../worker/index.ts';
import { FakeServer } from './fake-server.ts';
import { PACKAGES } from './packages.ts';
import { roundTrips } from './round-trips.ts';

const server = new FakeServer();
let url = '';
beforeAll(async () => {
  url = await server.start();
});
afterAll(() => server.close());

describe.each(PACKAGES)('what $name ($spec) sends goes back to it as its API demands', (one) => {
  test.each(roundTrips(one))('in a run with $title', async ({ agent, script, output, isSummarized = false }) => {
    server.script(...script);
    const { result, events } = await testAgent(agent, { input: 'Look.', model: aiSdk((id) => one.model(url, id)) });
    expect(server.refused).toEqual([]);
    expect(result).toMatchObject({ status: 'completed', output });
    if (!isSummarized) return;
    // The summary comes between the calls and the request with their results. Both stay, with the reasoning in front of them.
    const place = events.findIndex(({ compaction }) => compaction?.summarized !== undefined);
    const before = events
      .slice(place - 2, place)
      .map(({ content }) => content.filter(({ type }) => type !== 'message').map(({ type }) => type));
    expect(before).toEqual([
      ['tool_call', 'tool_call'],
      ['tool_result', 'tool_result'],
    ]);
    const sent = JSON.stringify(server.requests[3]?.body);
    expect(sent).toContain('They looked.');
    expect(sent).not.toContain('found a');
    for (const kept of ['found b', 'found c']) expect(sent).toContain(kept);
    expect(sent.split('Hmm, look.').length - 1).toBe(one.family.thinks ? 1 : 0);
  });
});
