import { Agent, request } from 'node:http';
import { median, rounded } from '../../figures/statistics.ts';
import { reporter } from './reporter.ts';
import type { ServeSurroundings } from './serve-surroundings.ts';

/** The times of starts, in milliseconds, and the one over HTTP divided by that of the client. */
export interface StartTimes {
  startRatio: number;
  startHttpMs: number;
  startClientMs: number;
}

/** Starts of each way before the first one that counts: a service that has just begun runs code that is not compiled yet. */
const WARM_UP = 2_000;

/** The number of them that are made at the same time. */
const AT_ONCE = 10;
const INPUT = JSON.stringify({ steps: 0, tokens: 1, rate: 0, phaseMs: 0 });

/**
 * Times starts by turns, from this process: `POST /v1/runs` on a connection that is kept alive, and `client.start`, both warmed up. A run has
 * ended before the next one starts, so that no start meets the work of another.
 */
export async function timeStarts({ url, client }: ServeSurroundings, starts: number): Promise<StartTimes> {
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  const ways = {
    http: (runId: string) => post(agent, `${url}/v1/runs`, { agent: reporter.name, runId, input: INPUT }),
    client: (runId: string) => client.start(reporter, { runId, input: INPUT }),
  };
  const times = { http: [] as number[], client: [] as number[] };
  for (let first = 0; first < WARM_UP; first += AT_ONCE) {
    const runIds = Array.from({ length: AT_ONCE }, (_, index) => `warm-${first + index}`);
    await Promise.all(runIds.map((runId) => Promise.all([ways.http(`${runId}-http`), ways.client(`${runId}-client`)])));
    const ids = runIds.flatMap((runId) => [`${runId}-http`, `${runId}-client`]);
    await Promise.all(ids.map((runId) => client.handle(runId).result({ steps: false })));
  }
  for (let pair = 0; pair < starts; pair += 1) {
    const order = pair % 2 === 0 ? (['http', 'client'] as const) : (['client', 'http'] as const);
    for (const way of order) {
      const runId = `start-${way}-${pair}`;
      const begun = performance.now();
      await ways[way](runId);
      times[way].push(performance.now() - begun);
      await client.handle(runId).result({ steps: false });
    }
  }
  agent.destroy();
  const [http, direct] = [median(times.http), median(times.client)];
  return { startRatio: rounded(http / direct, 3), startHttpMs: rounded(http, 2), startClientMs: rounded(direct, 2) };
}

/** Sends JSON, and resolves with the end of the response. Rejects for any status but 201. */
function post(agent: Agent, url: string, body: object): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', agent, headers: { 'content-type': 'application/json' } }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.once('end', () =>
        response.statusCode === 201 ? resolve() : reject(new Error(`A start was answered by ${response.statusCode}: ${text}`)),
      );
    });
    sent.once('error', reject);
    sent.end(JSON.stringify(body));
  });
}
