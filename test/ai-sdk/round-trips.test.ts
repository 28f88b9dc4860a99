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
  test.each(roundTrips(one))('in a run with $title', async ({ agent, script, output }) => {
    server.script(...script);
    const { result } = await testAgent(agent, { input: 'Look.', model: aiSdk((id) => one.model(url, id)) });
    expect(server.refused).toEqual([]);
    expect(result).toMatchObject({ status: 'completed', output });
  });
});
