import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DevServer, startDevServer } from '../../src/dev-server/dev-server.ts';
import { refundModel } from '../examples/refund-model.ts';
import { missingPackages } from '../installing.ts';

// The programs that a user of another framework reads side by side on the pages of docs/migrate. The program of Longhaul is run by
// test/examples/migrate.test.ts.

const folder = fileURLToPath(new URL('../../examples/migrate', import.meta.url));
const missingPeers = await missingPackages('examples/migrate/peers', 'the AI SDK, LangGraph and OpenAI Agents');
const missingPlugins = await missingPackages('examples/migrate/temporal', "Temporal's plugins");
const skipped = (reason: string): string => (reason === '' ? '' : ` (skipped: ${reason})`);

/** The program of another framework. */
interface Program {
  refundOrder: (baseURL: string, question: string, decide: () => Promise<boolean>) => Promise<string>;
}

describe.skipIf(missingPeers !== '')(`programs of other frameworks${skipped(missingPeers)}`, () => {
  test.each([
    { name: 'the AI SDK', file: 'ai-sdk.ts' },
    { name: 'LangGraph', file: 'langgraph.ts' },
    { name: 'OpenAI Agents', file: 'openai-agents.ts' },
  ])('the program of $name looks up the order, and refunds it only if a person agrees', async ({ file }) => {
    const { refundOrder } = (await import(`${folder}/peers/${file}`)) as Program;
    for (const [approved, answer] of [
      [true, 'Refunded $120.'],
      [false, 'Not refunded.'],
    ] as const) {
      await using model = await refundModel();
      expect(await refundOrder(model.url, 'Order 42 came back', async () => approved)).toBe(answer);
      expect(model.requests).toBe(3);
    }
  });
});

describe.skipIf(missingPlugins !== '')(`workflows with Temporal's plugins${skipped(missingPlugins)}`, () => {
  let server: DevServer;

  beforeAll(async () => {
    server = await startDevServer({ say: () => undefined, env: { ...process.env, TEMPORAL_ADDRESS: '' } });
  }, 300_000);

  afterAll(() => server?.stop(), 60_000);

  test('the workflows of both plugins look up the order and refund it', async () => {
    await using model = await refundModel();
    const args = [`${folder}/temporal/run.ts`, server.address, model.url, server.namespace];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder });
    expect(JSON.parse(stdout.trim().split('\n').at(-1) ?? '')).toEqual({ aiSdk: 'Refunded $120.', openaiAgents: 'Refunded $120.' });
    expect(model.requests).toBe(6);
  }, 120_000);
});
