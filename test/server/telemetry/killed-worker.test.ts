import { fileURLToPath } from 'node:url';
import { expect, inject, test } from 'vitest';
import { connect } from '../../../src/client/index.ts';
import { CollectedTraces } from '../../telemetry/collected-traces.ts';
import { OtlpReceiver } from '../../telemetry/otlp-receiver.ts';
import { traceProblems } from '../../telemetry/trace-problems.ts';
import { killProcess, startToolServer, startWorkerProcess, startWorkingModel } from '../testbed/other-processes.ts';
import { until } from '../testbed/until.ts';

/** The calls during which a worker is killed: how many requests that server has had by then, and the span of the attempt. */
const CUT_OFF = [
  { call: 'a tool call', server: 'tool', requests: 2, name: 'execute_tool work' },
  { call: 'a model call', server: 'model', requests: 2, name: 'chat model-1' },
] as const;

test.each(CUT_OFF)(
  'an attempt at $call whose worker was killed is reported by the next one, as by whoever reads the record, and the trace is complete',
  { timeout: 60_000 },
  async ({ call, server, requests, name }) => {
    await using collector = await OtlpReceiver.listen();
    // The attempt gets no answer before its worker is dead.
    const dead = Promise.withResolvers<undefined>();
    const made = { tool: 0, model: 0 };
    const gate = async (of: 'tool' | 'model'): Promise<void> => {
      made[of] += 1;
      if (of === server && made[of] === requests) await dead.promise;
    };
    const tools = await startToolServer(() => gate('tool'));
    const model = await startWorkingModel(() => gate('model'));
    const taskQueue = `killed-${process.pid}-${server}`;
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
      await until(() => made[server] === requests, `${call} that is cut off`, 20);
      await killProcess(worker);
      dead.resolve(undefined);
      worker = await startWorkerProcess(environment);
      expect(await run.result()).toMatchObject({ status: 'completed' });
      const place = await run.traceContext();
      await until(() => collector.spans.some(({ spanId }) => spanId === place.spanId), 'the span of the run');
      // On a busy machine, the server may lose patience with a later attempt, too.
      const lost = (): object[] =>
        collector.spans.filter(({ values }) => values['error.type'] === 'worker_lost' && values['longhaul.attempt'] === '1');
      const loss = { name, parentSpanId: place.spanId, values: { 'longhaul.attempt': '1', 'gen_ai.agent.name': 'worker_agent' } };
      expect(lost()).toMatchObject([loss]);
      const nextAttempts = collector.spans.filter((span) => span.name === name && span.values['longhaul.attempt'] === '2');
      expect(nextAttempts.length).toBeGreaterThan(0);
      expect(traceProblems(collector.spans)).toEqual([]);

      const reported = collector.spans.length;
      collector.add(await run.exportTrace());
      expect(collector.spans.slice(reported).map(({ values }) => values['error.type'])).toContain('worker_lost');
      expect(traceProblems(collector.spans)).toEqual([]);
    } finally {
      await killProcess(worker);
      await client.close();
      await tools.close();
      await model.close();
    }
  },
);

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

test.each([
  { how: 'alone', agent: 'held' },
  { how: 'in a burst', agent: 'held_in_bursts' },
])(
  'a call that is made $how, and whose worker was held up until the server lost patience, is reported as lost alone, although it ended',
  { timeout: 60_000 },
  async ({ agent }) => {
    const traces = await CollectedTraces.open();
    const environment = {
      TEST_BUNDLE: inject('workflowBundlePath'),
      TEST_ADDRESS: inject('temporalAddress'),
      TEST_TASK_QUEUE: `${agent}-${process.pid}`,
      OTEL_EXPORTER_OTLP_ENDPOINT: traces.url,
    };
    const client = await connect({ address: inject('temporalAddress') });
    const worker = await startWorkerProcess(environment, TRACING);
    try {
      const run = await client.start(agent, { input: 'Q', runId: environment.TEST_TASK_QUEUE, taskQueue: environment.TEST_TASK_QUEUE });
      expect(await run.result()).toMatchObject({ status: 'completed' });
      expect(await traces.problems(client, [run.runId], { wasKilled: true })).toEqual([]);
      const calls = traces.spansOf(run.runId).filter(({ name }) => name === 'execute_tool hold_up');
      const ends = new Map(calls.map(({ values }) => [values['longhaul.attempt'], values['error.type']]));
      expect(ends.get('1')).toBe('worker_lost');
      expect([...ends.values()].at(-1)).toBeUndefined();
    } finally {
      await killProcess(worker);
      await client.close();
      await traces.close();
    }
  },
);
