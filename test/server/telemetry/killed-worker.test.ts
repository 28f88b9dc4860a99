import { fileURLToPath } from 'node:url';
import { expect, inject, test } from 'vitest';
import { connect } from '../../../src/client/index.ts';
import { CollectedTraces } from '../../telemetry/collected-traces.ts';
import { OtlpReceiver } from '../../telemetry/otlp-receiver.ts';
import { traceProblems } from '../../telemetry/trace-problems.ts';
import { killProcess, startToolServer, startWorkerProcess, startWorkingModel } from '../testbed/other-processes.ts';
import { until } from '../testbed/until.ts';

test('an attempt whose worker was killed is reported by the next one, and its trace is complete', { timeout: 60_000 }, async () => {
  await using collector = await OtlpReceiver.listen();
  // The first attempt gets no answer before its worker is dead.
  const dead = Promise.withResolvers<undefined>();
  const tools = await startToolServer(async (path) => {
    if (path === '/work/1') await dead.promise;
  });
  const model = await startWorkingModel(async () => undefined);
  const taskQueue = `killed-${process.pid}`;
  const environment = {
    TEST_BUNDLE: inject('workflowBundlePath'),
    TEST_ADDRESS: inject('temporalAddress'),
    TEST_TASK_QUEUE: taskQueue,
    TEST_MODEL_URL: model.url,
    TEST_TOOL_URL: tools.url,
    TEST_HEARTBEAT_MS: '300',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  };
  const client = await connect({ address: inject('temporalAddress') });
  let worker = await startWorkerProcess(environment);
  try {
    const run = await client.start('worker_agent', { input: 'Q', taskQueue });
    await until(() => tools.calls.includes('/work/1'), 'the call that is cut off', 20);
    await killProcess(worker);
    dead.resolve(undefined);
    worker = await startWorkerProcess(environment);
    expect(await run.result()).toMatchObject({ status: 'completed' });
    const place = await run.traceContext();
    await until(() => collector.spans.some(({ spanId }) => spanId === place.spanId), 'the span of the run');
    const lost = collector.spans.filter(({ values }) => values['error.type'] === 'worker_lost');
    expect(lost).toMatchObject([{ name: 'execute_tool work', parentSpanId: place.spanId, values: { 'longhaul.attempt': '1' } }]);
    const [loss] = lost;
    const attempts = collector.spans.filter(({ values }) => values['gen_ai.tool.call.id'] === loss?.values['gen_ai.tool.call.id']);
    expect(attempts.map(({ values }) => values['longhaul.attempt']).toSorted((one, other) => Number(one) - Number(other))).toEqual([
      '1',
      '2',
    ]);
    expect(traceProblems(collector.spans)).toEqual([]);
  } finally {
    await killProcess(worker);
    await client.close();
    await tools.close();
    await model.close();
  }
});

const TRACING = fileURLToPath(new URL('./tracing-worker.ts', import.meta.url));

test.each([
  ['in a call before the handoff', '/work/0'],
  ['in a call of a child, after the handoff', '/work/1'],
])(
  'a run that hands over and lets a child work is one trace below its caller if its worker is killed %s',
  async (_, path) => {
    const traces = await CollectedTraces.open();
    const dead = Promise.withResolvers<undefined>();
    const tools = await startToolServer(async (called) => {
      if (called === path) await dead.promise;
    });
    const environment = {
      TEST_BUNDLE: inject('workflowBundlePath'),
      TEST_ADDRESS: inject('temporalAddress'),
      TEST_TASK_QUEUE: `handed-over-${process.pid}-${path.at(-1)}`,
      TEST_TOOL_URL: tools.url,
      OTEL_EXPORTER_OTLP_ENDPOINT: traces.url,
    };
    const client = await connect({ address: inject('temporalAddress') });
    let worker = await startWorkerProcess(environment, TRACING);
    try {
      const runId = environment.TEST_TASK_QUEUE;
      const traceparent = traces.traceparentOf(runId);
      const run = await client.start('front', { input: 'Q', runId, traceparent, taskQueue: environment.TEST_TASK_QUEUE });
      await until(() => tools.calls.includes(path), 'the call that is cut off', 20);
      await killProcess(worker);
      dead.resolve(undefined);
      worker = await startWorkerProcess(environment, TRACING);
      expect(await run.result()).toMatchObject({ status: 'completed', output: 'back is done', lastAgent: 'back' });
      expect(await traces.problems(client, [runId], { wasKilled: true })).toEqual([]);
      const spans = traces.spansOf(runId);
      expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([traceparent.split('-')[1]]));
      const names = new Set(spans.map(({ name }) => name));
      for (const name of ['invoke_agent front', 'execute_tool helper', 'invoke_agent helper', 'execute_tool work', 'chat helper'])
        expect(names).toContain(name);
      expect(spans.filter(({ values }) => values['error.type'] === 'worker_lost').map(({ name }) => name)).toContain('execute_tool work');
    } finally {
      await killProcess(worker);
      await client.close();
      await tools.close();
      await traces.close();
    }
  },
  60_000,
);
