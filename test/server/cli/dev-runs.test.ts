import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, inject, onTestFinished, test } from 'vitest';
import { freePorts } from '../../../src/dev-server/start-flags.ts';
import { callCli, type CliOutcome } from '../../cli/call-cli.ts';
import { type CliProcess, startCli, untilSaid } from '../../cli/cli-process.ts';
import { sandbox } from '../../dev-server/fake-programs.ts';
import { until } from '../testbed/testbed.ts';

const cliPath = inject('temporalCliPath') ?? '';
const agents = fileURLToPath(new URL('../../cli/fixtures/paying-agents.ts', import.meta.url));

/** Bundling takes long on a busy machine. */
const READY_MS = 100_000;

/** A session of `longhaul dev` in a folder, once it is ready. */
interface DevSession extends CliProcess {
  address: string;
  dbFile?: string;
}

/** Starts a session, without agents unless `more` names them. */
async function startDev(folder: string, more: readonly string[] = []): Promise<CliProcess> {
  const [port, uiPort] = await freePorts([undefined, undefined]);
  const args = ['dev', '--port', String(port), '--ui-port', String(uiPort), '--no-http', '--json', ...more];
  const dev = startCli(args, { TEMPORAL_CLI_PATH: cliPath, TEMPORAL_ADDRESS: '' }, folder);
  onTestFinished(() => void dev.child.kill('SIGKILL'));
  return dev;
}

async function devIn(folder: string, more: readonly string[] = []): Promise<DevSession> {
  const dev = await startDev(folder, more);
  await untilSaid(dev, () => dev.stdout().includes('\n'), 'the line that says that all is ready', READY_MS);
  return { ...dev, ...(JSON.parse(dev.stdout()) as { address: string; dbFile?: string }) };
}

async function cli({ address }: DevSession, args: readonly string[]): Promise<CliOutcome> {
  return callCli([...args, '--address', address]);
}

async function waits(dev: DevSession, runId: string): Promise<void> {
  await until(async () => (await cli(dev, ['approvals', runId])).stdout.includes('refund'), 'the call waits');
}

test.skipIf(cliPath === '')(
  'runs outlive a session that is killed: the next one in the same folder continues them',
  async () => {
    const { directory } = await sandbox();
    const killed = await devIn(directory, ['--agents', agents]);
    let next: DevSession | undefined;
    try {
      expect(killed.dbFile).toBe(join('.longhaul', 'dev.db'));
      expect(killed.stderr()).toContain('Starting a Temporal server, with its runs in .longhaul/dev.db …\n');
      expect(killed.stderr()).toContain('Bundling the workflows of the worker …');
      expect(readFileSync(join(directory, '.longhaul', '.gitignore'), 'utf8')).toBe('*\n');
      await cli(killed, ['start', 'payer', 'Pay me back', '--run-id', 'r1']);
      await waits(killed, 'r1');
      killed.child.kill('SIGKILL');
      await killed.ended;

      next = await devIn(directory, ['--agents', agents]);
      await waits(next, 'r1');
      expect(await cli(next, ['approve', 'r1', 'pay', '--by', 'ann'])).toMatchObject({ exitCode: 0 });
      expect(await cli(next, ['result', 'r1'])).toMatchObject({ exitCode: 0, stdout: 'It is paid.\n' });
      next.child.kill('SIGINT');
      expect(await next.ended).toBe(0);
    } finally {
      killed.child.kill('SIGKILL');
      next?.child.kill('SIGKILL');
    }
  },
  120_000,
);

test.skipIf(cliPath === '')(
  'two sessions in one folder: the second one says who has the runs, and changes nothing',
  async () => {
    const { directory } = await sandbox();
    const both = await Promise.all([startDev(directory), startDev(directory)]);
    try {
      const [loser, outcome] = await Promise.race(both.map(async (one) => [one, await one.ended] as const));
      expect(outcome).toBe(7);
      expect(loser.stderr()).toMatch(
        /longhaul: Another "longhaul dev".* keeps its runs in "\.longhaul\/dev\.db": use that one, end it, or start/,
      );
      const winner = both.find((one) => one !== loser);
      if (winner === undefined) throw new Error('both have ended');
      await untilSaid(winner, () => winner.stdout().includes('\n'), 'the line that says that all is ready', READY_MS);

      const { address } = JSON.parse(winner.stdout()) as { address: string };
      const late = await startDev(directory);
      expect(await late.ended).toBe(7);
      expect(late.stderr()).toContain(`Another "longhaul dev" (process ${winner.child.pid}, server at ${address}) keeps its runs in`);

      const beside = await devIn(directory, ['--memory']);
      expect(beside.dbFile).toBeUndefined();
      beside.child.kill('SIGINT');
      expect(await beside.ended).toBe(0);
      winner.child.kill('SIGINT');
      expect(await winner.ended).toBe(0);
    } finally {
      for (const one of both) one.child.kill('SIGKILL');
    }
  },
  120_000,
);

test.skipIf(cliPath === '')('a session that keeps no runs writes no file', async () => {
  const { directory } = await sandbox();
  const dev = await devIn(directory, ['--memory']);
  dev.child.kill('SIGINT');
  expect(await dev.ended).toBe(0);
  expect(existsSync(join(directory, '.longhaul'))).toBe(false);
});
