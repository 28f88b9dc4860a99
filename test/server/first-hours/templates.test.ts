import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { type PackageManager, TEMPLATES } from '../../../create-longhaul/src/choices.ts';
import { FreshProject, type PackedPackages, packedPackages } from './fresh-project.ts';

const MINUTES = 60_000;

let packages: PackedPackages;
beforeAll(async () => {
  packages = await packedPackages();
}, 5 * MINUTES);
afterAll(() => packages.remove());

const hasPnpm = spawnSync('pnpm', ['--version']).status === 0;
const MANAGERS: readonly { packageManager: PackageManager; skipped: boolean; why: string }[] = [
  { packageManager: 'npm', skipped: false, why: '' },
  { packageManager: 'pnpm', skipped: !hasPnpm, why: hasPnpm ? '' : ' (skipped: pnpm is not installed)' },
];

const CASES = MANAGERS.flatMap((manager) => TEMPLATES.map((template) => ({ template, ...manager })));

for (const { template, packageManager, skipped, why } of CASES) {
  test.skipIf(skipped)(
    `the template ${template} installs by ${packageManager}, has the types of TypeScript 6 and 7, passes its tests and answers${why}`,
    async () => {
      const project = await FreshProject.create(packages, { template, provider: 'scripted', packageManager });
      await project.typecheck();
      await project.call('npm', ['test']);

      const server = ['--address', inject('temporalAddress'), '--task-queue', `first-hours-${randomUUID()}`];
      const worker = await project.worker(server);
      const runId = `first-${randomUUID()}`;
      await project.longhaul(['start', 'clerk', 'Order 42 arrived broken', '--run-id', runId, ...server]);
      const asks = template === 'approvals' || template === 'sessions';
      let waiting = '';
      while (asks && waiting === '') waiting = (await project.longhaul(['approvals', runId, '--json', ...server])).trim();
      expect(waiting.includes('refund')).toBe(asks);
      if (asks) await project.longhaul(['approve', runId, ...server]);
      expect(await project.longhaul(['result', runId, ...server])).toContain('Order 42 arrived broken.');
      expect(await worker.stop()).toBe(0);
    },
    8 * MINUTES,
  );
}

test(
  'the providers that need a key or a server of their own have their types, and their tests pass without either',
  async () => {
    for (const provider of ['openai', 'anthropic', 'ollama'] as const) {
      const project = await FreshProject.create(packages, { template: 'approvals', provider, packageManager: 'npm' });
      await project.typecheck();
      expect(await project.call('npm', ['test'])).toMatch(/pass 2/);
    }
  },
  8 * MINUTES,
);
