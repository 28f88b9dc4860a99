import { serve } from '@hono/node-server';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { LonghaulClient } from '../../../src/client/index.ts';
import { createHandler } from '../../../src/server/index.ts';
import { memoryStreams } from '../../../src/streams/memory-streams.ts';
import { callTool, say, scriptedModel, type ScriptEntry, together } from '../../../src/testing/index.ts';
import { callCli, type CliOutcome } from '../../cli/call-cli.ts';
import { assistant } from '../testbed/agents.ts';
import { Testbed } from '../testbed/testbed.ts';

const SLOW = { chunks: 6, every: '100ms' } as const;
const SCRIPT = [together(say('I look.', SLOW), callTool('search', { query: 'a' })), say('It is 17,000 hours.', SLOW)];

/** Starts a run and waits while a service streams it. Returns the written output, piece by piece. */
async function waited({
  isTTY,
  args = [],
  script = SCRIPT,
}: {
  isTTY: boolean;
  args?: string[];
  script?: ScriptEntry[];
}): Promise<CliOutcome & { pieces: string[] }> {
  await using testbed = await Testbed.open();
  const streams = memoryStreams();
  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel(script) }, streams });
  const client = new LonghaulClient(testbed.client.temporal, { taskQueue: testbed.taskQueue, streams });
  const server = serve({ fetch: createHandler(client), port: 0, hostname: '127.0.0.1' });
  try {
    await once(server, 'listening');
    const env = { LONGHAUL_SERVICE: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, NO_COLOR: '1' };
    const pieces: string[] = [];
    const where = ['--address', testbed.address, '--task-queue', testbed.taskQueue];
    const outcome = await callCli(['start', 'assistant', 'How long?', '--wait', ...args, ...where], {
      isTTY,
      env,
      onStdout: (piece) => pieces.push(piece),
    });
    return { ...outcome, pieces };
  } finally {
    server.close();
  }
}

test('start --wait shows the text of a run on a terminal as it is written, once', async () => {
  const { exitCode, stdout, pieces } = await waited({ isTTY: true });
  expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: 'I look.\nIt is 17,000 hours.\n' });
  expect(pieces.length).toBeGreaterThan(4);
});

test.each([
  ['into a pipe', { isTTY: false }, 'It is 17,000 hours.\n'],
  ['as JSON', { isTTY: true, args: ['--json'] }, /^\{.*"It is 17,000 hours\."/],
])('%s, it prints the result alone', async (_, options, stdout) => {
  const outcome = await waited(options);
  expect(outcome.pieces).toEqual([outcome.stdout]);
  expect(outcome.stdout).toMatch(stdout);
});

test('a person who waits without live text sees that something happens', async () => {
  const { stdout, stderr } = await waited({ isTTY: false, script: [say('Done', { chunks: 4, every: '1s' })] });
  expect(stdout).toBe('Done\n');
  expect(stderr.match(/^The run is working …$/gm)).toHaveLength(1);
});
