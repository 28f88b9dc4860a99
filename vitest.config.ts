import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { REPORT_PATH, TestReporter } from './test/ci/test-report.ts';
import { chosenMatrices, MATRICES } from './test/matrices.ts';
import { PROPERTY_RUNS } from './test/property-runs.ts';

// Hundreds of processes (of the tests, and started by them) load the same modules: Node compiles each once, and keeps it here.
process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(new URL('node_modules/.cache/compiled', import.meta.url));

/** Starts matrices in the order of their list: without a record of earlier times, vitest would start small files last, as most of these are. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- it is the method of the sequencer.
    const sorted = await super.sort(files);
    const place = ({ moduleId }: TestSpecification): number => MATRICES.findIndex((file) => moduleId.endsWith(file));
    const matrices = sorted.filter((file) => place(file) >= 0).toSorted((one, other) => place(one) - place(other));
    return [...matrices, ...sorted.filter((file) => place(file) < 0)];
  }
}

/** What tests on the server need: they share one Temporal dev server, started by the global set-up. */
const SERVER = {
  globalSetup: ['test/studio-setup.ts', 'test/bundle-setup.ts', 'test/global-setup.ts'],
  setupFiles: ['test/server/testbed/quiet-runtime.ts'],
  testTimeout: 60_000,
  hookTimeout: 60_000,
};

/** What a test stubs ends with it: the next one of the file must not find it. */
const UNSTUBBED = { unstubEnvs: true, unstubGlobals: true };

/**
 * Most files take less time than a process that loads what they import: files share three. What a test changes in its process it
 * changes back.
 */
const SHARED = { isolate: false, ...UNSTUBBED };

/** The matrices of a project: those on a server are in a folder of their own. */
const isOnServer = (file: string): boolean => file.startsWith('test/server/');
const chosen = chosenMatrices(process.env);

/** Tests that install packages which the project does not have: the built site, and projects that begin from a registry. */
const HOURS = ['test/first-hours/**/*.test.ts', 'test/site/built/**/*.test.ts'];

/** `npm run ci` names the file to which the outcome is to be written. */
const report = process.env[REPORT_PATH];

// Tests of `unit` need nothing but Node, those of `server` share a Temporal dev server.
export default defineConfig({
  test: {
    pool: 'forks',
    globalSetup: ['test/studio-setup.ts', 'test/bundle-setup.ts'],
    // Tests on the server mostly wait for it, or for the pause that it makes between two executions of a run.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    reporters: ['default', ...(report === undefined ? [] : [new TestReporter(report)])],
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          // The tests of the consumer run where the package is installed.
          exclude: ['test/server/**', 'test/package/**', ...HOURS, ...MATRICES],
          testTimeout: 20_000,
          // What tools of tests throw is expected, and would bury what is not.
          env: { LONGHAUL_LOG_LEVEL: 'OFF' },
          ...SHARED,
        },
      },
      {
        extends: true,
        test: { name: 'server', include: ['test/server/**/*.test.ts'], exclude: [...MATRICES], ...SERVER, ...SHARED },
      },
      // One after the other: each takes both processors.
      { extends: true, test: { name: 'hours', include: HOURS, fileParallelism: false, testTimeout: 60_000 } },
      {
        extends: true,
        test: {
          name: 'unit-matrices',
          include: chosen.filter((file) => !isOnServer(file)),
          testTimeout: 20_000,
          env: { [PROPERTY_RUNS]: 'all' },
          ...UNSTUBBED,
        },
      },
      { extends: true, test: { name: 'server-matrices', include: chosen.filter(isOnServer), ...SERVER, ...UNSTUBBED } },
    ],
  },
});
