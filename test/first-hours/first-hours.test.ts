import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TEMPLATES } from '../../create-longhaul/src/choices.ts';
import { type DevServer, startDevServer } from '../../src/dev-server/dev-server.ts';
import { matrixSample } from '../matrix-sample.ts';
import { ANSWER, BegunProject } from './begun-project.ts';
import { LocalRegistry } from './local-registry.ts';
import { missingTools } from './tools.ts';
import { Reader, tutorialFences } from './tutorial.ts';
import { CHROMIUM } from '../site/built/built-site.ts';

const missing = await missingTools();

/** A commit begins two of the twelve: each template and each package manager has its turn. */
const CASES = matrixSample(
  TEMPLATES.flatMap((template) => (['npm', 'pnpm'] as const).map((packageManager) => ({ template, packageManager }))),
  { every: 6 },
);

describe.skipIf(missing !== '')(`the first hours of a person with an empty home${missing === '' ? '' : ` (skipped: ${missing})`}`, () => {
  let folder = '';
  let registry: LocalRegistry;
  let server: DevServer;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'longhaul-first-hours-'));
    // Sequentially: what has started is ended, even if the other does not start.
    server = await startDevServer({ say: () => undefined, env: { ...process.env, TEMPORAL_ADDRESS: '' } });
    registry = await LocalRegistry.start(folder);
  }, 300_000);

  afterAll(async () => {
    await registry?.[Symbol.asyncDispose]();
    await server?.stop();
    await rm(folder, { recursive: true, force: true });
  }, 60_000);

  test('following the page of ten minutes fence by fence with the packed package leads to a tested agent', async () => {
    const within = join(folder, 'ten-minutes');
    await mkdir(within);
    // "Copy it into an empty folder, open a terminal there, and run".
    await copyFile(registry.tarball, join(within, basename(registry.tarball)));
    const fences = tutorialFences();
    expect(fences[0]?.text).toContain(`npm install ./${basename(registry.tarball)} `);
    await using reader = new Reader(within, {
      ...registry.env,
      TEMPORAL_ADDRESS: server.address,
      TEMPORAL_NAMESPACE: server.namespace,
    });
    for (const fence of fences) expect(await reader.read(fence)).toEqual([]);
  }, 300_000);

  test.for(CASES)(
    'the template $template with $packageManager is created, installed, type-checked by two compilers, tested, asked and stopped',
    { timeout: 600_000 },
    async ({ template, packageManager }, { skip }) => {
      skip(template === 'next' && CHROMIUM === undefined, 'chromium is not installed');
      const within = await mkdtemp(join(folder, `${template}-${packageManager}-`));
      await using project = await BegunProject.begin({ folder: within, registry, template, packageManager, server });
      expect((await project.files()).length).toBeLessThanOrEqual(12);
      await project.typecheck();
      expect(await project.test()).toMatch(/pass [12]\b/);
      expect(await project.firstAnswer()).toContain(ANSWER);
      await project.stop();
    },
  );
});
