import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { freePorts } from '../../src/dev-server/start-flags.ts';
import { spanIdOf, traceOfStart } from '../../src/telemetry/ids.ts';
import { telemetry } from '../../src/telemetry/telemetry.ts';
import { RecordingMeter } from './recording-sdk.ts';

/** The program of Phoenix: `LONGHAUL_PHOENIX`, or the one on the path. */
const PHOENIX = process.env['LONGHAUL_PHOENIX'] ?? 'phoenix';
// Its first line of help takes a minute on a busy machine.
const isInstalled = spawnSync('sh', ['-c', 'command -v "$1"', 'sh', PHOENIX]).status === 0;
const MISSING = isInstalled ? '' : ' (skipped: pip install arize-phoenix)';

/** It loads a database, and much more. */
const READY_WITHIN = { timeout: 280_000, interval: 500 };

/** A span as Phoenix gives it back. */
interface StoredSpan {
  name: string;
  parent_id: string | null;
  span_kind: string;
  context: { trace_id: string; span_id: string };
}

describe.skipIf(!isInstalled)(`Phoenix${MISSING}`, () => {
  let phoenix: ChildProcess;
  let folder: string;
  let url: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'longhaul-phoenix-'));
    const [port, grpc] = await freePorts([undefined, undefined]);
    url = `http://127.0.0.1:${port}`;
    const env = {
      ...process.env,
      PHOENIX_HOST: '127.0.0.1',
      PHOENIX_PORT: String(port),
      PHOENIX_GRPC_PORT: String(grpc),
      PHOENIX_WORKING_DIR: folder,
      PHOENIX_TELEMETRY_ENABLED: 'false',
    };
    phoenix = spawn(PHOENIX, ['serve'], { env, stdio: 'ignore' });
    const isUp = (): Promise<boolean> =>
      fetch(`${url}/healthz`).then(
        ({ ok }) => ok,
        () => false,
      );
    await vi.waitUntil(isUp, READY_WITHIN);
  }, 300_000);

  afterAll(async () => {
    if (phoenix.exitCode === null) {
      phoenix.kill('SIGKILL');
      await once(phoenix, 'exit');
    }
    await rm(folder, { recursive: true, force: true });
  });

  test('shows the spans of a run as an agent, a model and a tool in one trace, each of them once', async () => {
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', url);
    const reported = await telemetry({ meterProvider: new RecordingMeter() });
    const run = { namespace: 'default', runId: `clerk-${process.pid}`, firstExecutionId: 'f0e1' };
    const place = traceOfStart(run, undefined);
    const root = spanIdOf(run, 'run');
    const common = { 'gen_ai.agent.name': 'clerk', 'gen_ai.conversation.id': run.runId };
    const times = { startTime: Date.now() - 1_000, endTime: Date.now() };
    const spans = [
      { name: 'chat gpt', spanId: spanIdOf(run, 'chat', '1', 1, 1), parentSpanId: root, operation: 'chat' },
      { name: 'execute_tool look', spanId: spanIdOf(run, 'tool', 'c1', 1), parentSpanId: root, operation: 'execute_tool' },
      { name: 'invoke_agent clerk', spanId: root, operation: 'invoke_agent' },
    ];
    const report = (): void => {
      for (const { operation, ...span } of spans) {
        const attributes = { ...common, 'gen_ai.operation.name': operation, 'gen_ai.usage.input_tokens': 100 };
        reported.report(place, { ...span, ...times, traceId: place.traceId, attributes });
      }
    };
    // As a run reports them, and then a repair.
    report();
    report();
    await reported.flush();
    expect(reported.dropped).toBe(0);
    const stored = async (): Promise<StoredSpan[]> => {
      const answer = await fetch(`${url}/v1/projects/default/spans?limit=100`);
      const { data = [] } = (await answer.json()) as { data?: StoredSpan[] };
      return data.filter(({ context }) => context.trace_id === place.traceId);
    };
    await vi.waitUntil(async () => (await stored()).length >= spans.length, READY_WITHIN);
    const kinds = (await stored()).map(({ name, span_kind: kind, parent_id: parent }) => `${name} ${kind} ${parent}`);
    expect(new Set(kinds)).toEqual(new Set([`chat gpt LLM ${root}`, `execute_tool look TOOL ${root}`, 'invoke_agent clerk AGENT null']));
    expect(kinds).toHaveLength(spans.length);
  }, 300_000);
});
