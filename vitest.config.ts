import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

// Hundreds of processes (of the tests, and started by them) load the same modules: Node compiles each once, and keeps it here.
process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(new URL('node_modules/.cache/compiled', import.meta.url));

/**
 * Matrices: one behaviour at every place, every change of a kind, or everything anew; and tests that wait for many executions,
 * processes or deploys. They take minutes, and have a command of their own.
 */
const MATRICES = {
  unit: [
    'test/activities/hostile/thrown-by-hooks.test.ts',
    'test/activities/code/quickjs-cells.test.ts',
    'test/spec/own-cases.test.ts',
    'test/replay/mutations.test.ts',
    'test/replay/program-mutations.test.ts',
    'test/core/json-schema/bounded-checks.test.ts',
    'test/core/program/mutants/ten-thousand-mutants.test.ts',
    'test/core/sessions/continued-sessions.test.ts',
    'test/memory/postgres/postgres-memory.test.ts',
    'test/streams/redis-outages.test.ts',
    'test/server-http/generated/generated-client.test.ts',
    'test/server-http/large/any-large-body.test.ts',
    'test/cli/replay.test.ts',
    'test/core/children/trees/budget.test.ts',
    'test/core/loop/budget-invariants.test.ts',
    'test/core/wire-schemas/largest-carry.test.ts',
  ],
  server: [
    'test/server/approvals/approved-without-the-tool.test.ts',
    'test/server/archive/delete.test.ts',
    'test/server/archive/export.test.ts',
    'test/server/archive/failing-sinks.test.ts',
    'test/server/archive/forgotten-history.test.ts',
    'test/server/cancel/cancel-matrix.test.ts',
    'test/server/cli/cli-processes.test.ts',
    'test/server/cli/dev-http.test.ts',
    'test/server/cli/dev-watch.test.ts',
    'test/server/client/tree/agents.test.ts',
    'test/server/client/chain.test.ts',
    'test/server/client/closing.test.ts',
    'test/server/client/client-decisions.test.ts',
    'test/server/client/http/access/access-matrix.test.ts',
    'test/server/client/http/chat.test.ts',
    'test/server/client/http/fuzzed/fuzzed.test.ts',
    'test/server/client/http/guarded-answers.test.ts',
    'test/server/client/http/lists.test.ts',
    'test/server/client/http/mcp.test.ts',
    'test/server/client/http/openai.test.ts',
    'test/server/client/http/python-clients.test.ts',
    'test/server/client/stream/heartbeats.test.ts',
    'test/server/client/stream/killed-processes.test.ts',
    'test/server/client/stream/rolling-restart.test.ts',
    'test/server/client/stream/streams.test.ts',
    'test/server/client/decisions-from-history.test.ts',
    'test/server/client/principals/many-users.test.ts',
    'test/server/cli/saved-sessions.test.ts',
    'test/server/cli/serve.test.ts',
    'test/server/client/removal/delete-tree.test.ts',
    'test/server/client/removal/forget-finds.test.ts',
    'test/server/client/removal/forget.test.ts',
    'test/server/client/removal/late-writes.test.ts',
    'test/server/client/tree/programs.test.ts',
    'test/server/codec/codec-tools.test.ts',
    'test/server/codec/codec-database.test.ts',
    'test/server/codec/codec.test.ts',
    'test/server/deploys/deploy-replay.test.ts',
    'test/server/deploys/deploy.test.ts',
    'test/server/deploys/rolling-deploy.test.ts',
    'test/server/deploys/versioning.test.ts',
    'test/server/examples/demo.test.ts',
    'test/server/examples/program-demo.test.ts',
    'test/server/examples/chat-web.test.ts',
    'test/server/examples/demo-interrupted.test.ts',
    'test/server/examples/desk-demo.test.ts',
    'test/server/examples/testing-example.test.ts',
    'test/server/limits/byte-budgets.test.ts',
    'test/server/limits/unreadable-payloads.test.ts',
    'test/server/messages/many-messages.test.ts',
    'test/server/messages/started-from-messages.test.ts',
    'test/server/models/compaction.test.ts',
    'test/server/models/references.test.ts',
    'test/server/models/spending.test.ts',
    'test/server/package/next.test.ts',
    'test/server/package/package-installed.test.ts',
    'test/server/package/package.test.ts',
    'test/server/programs/cli.test.ts',
    'test/server/programs/ask-with-tools.test.ts',
    'test/server/programs/children-across-executions.test.ts',
    'test/server/programs/children.test.ts',
    'test/server/programs/continue-as-new.test.ts',
    'test/server/programs/durable.test.ts',
    'test/server/programs/orphans.test.ts',
    'test/server/programs/pause.test.ts',
    'test/server/programs/scenarios.test.ts',
    'test/server/programs/spilled-outputs.test.ts',
    'test/server/queries/queries-storm.test.ts',
    'test/server/queries/queries.test.ts',
    'test/server/testing/kits.test.ts',
    'test/server/tools/agents/switches.test.ts',
    'test/server/tools/agents/ends.test.ts',
    'test/server/tools/agents/kept.test.ts',
    'test/server/tools/agents/races.test.ts',
    'test/server/tools/local-tier.test.ts',
    'test/server/worker/crash.test.ts',
    'test/server/worker/crowd.test.ts',
    'test/server/worker/fresh-worker.test.ts',
    'test/server/workflows/continue-as-new.test.ts',
    'test/server/cli/chat-terminal.test.ts',
    'test/server/examples/chat-demo.test.ts',
    'test/server/programs/shared-limits.test.ts',
    'test/server/programs/skipped-steps.test.ts',
    'test/server/workflows/forged-carry.test.ts',
    'test/server/hooks/failing-notify.test.ts',
    'test/server/hooks/hooked-run.test.ts',
    'test/server/programs/program-run.test.ts',
    'test/server/workflows/handoffs.test.ts',
    'test/server/models/streamed-runs.test.ts',
    'test/server/worker/worker-log.test.ts',
  ],
};

/** The files that take a minute and more. Without a record of earlier times, vitest would start small files last, as most of these are. */
const LONGEST = [
  'test/server/client/http/fuzzed/fuzzed.test.ts',
  'test/server/testing/kits.test.ts',
  'test/server/queries/queries-storm.test.ts',
  'test/replay/mutations.test.ts',
  'test/replay/program-mutations.test.ts',
  'test/server/client/removal/forget.test.ts',
  'test/server/package/package-installed.test.ts',
  'test/server/archive/forgotten-history.test.ts',
  'test/server/examples/chat-web.test.ts',
  'test/server/client/stream/killed-processes.test.ts',
  'test/spec/own-cases.test.ts',
  'test/server/client/stream/rolling-restart.test.ts',
];

/** Starts the longest files first, so that no worker is left with one at the end. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- it is the method of the sequencer.
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification): boolean => LONGEST.some((file) => moduleId.endsWith(file));
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

/** What tests on the server need: they share one Temporal dev server, started by the global set-up. */
const SERVER = {
  globalSetup: ['test/global-setup.ts'],
  setupFiles: ['test/server/testbed/quiet-runtime.ts'],
  testTimeout: 60_000,
  hookTimeout: 60_000,
};

// Tests of `unit` need nothing but Node, those of `server` share a Temporal dev server.
export default defineConfig({
  test: {
    pool: 'forks',
    // Tests on the server mostly wait for it, or for the pause that it makes between two executions of a run.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          // The tests of the consumer run where the package is installed.
          exclude: ['test/server/**', 'test/package/**', ...MATRICES.unit],
          testTimeout: 20_000,
          // Most files take less time than a process that loads what they import: files share three. What a test changes
          // in its process it changes back.
          isolate: false,
          // What tools of tests throw is expected, and would bury what is not.
          env: { LONGHAUL_LOG_LEVEL: 'OFF' },
          unstubEnvs: true,
          unstubGlobals: true,
        },
      },
      {
        extends: true,
        test: { name: 'server', include: ['test/server/**/*.test.ts'], exclude: MATRICES.server, ...SERVER },
      },
      { extends: true, test: { name: 'unit-matrices', include: MATRICES.unit, testTimeout: 20_000 } },
      { extends: true, test: { name: 'server-matrices', include: MATRICES.server, ...SERVER } },
    ],
  },
});
