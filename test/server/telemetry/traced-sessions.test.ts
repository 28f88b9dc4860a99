import { expect, test } from 'vitest';
import { agentTool, defineAgent } from '../../../src/index.ts';
import { idGenerator } from '../../../src/telemetry/ids.ts';
import { Telemetry } from '../../../src/telemetry/telemetry.ts';
import { callTool, say, scriptedModel } from '../../../src/testing/index.ts';
import { callCli } from '../../cli/call-cli.ts';
import { type ExportedSpan, plainApi, RecordingMeter, RecordingSdk } from '../../telemetry/recording-sdk.ts';
import { assistant } from '../testbed/agents.ts';
import { Testbed, until } from '../testbed/testbed.ts';

const usage = { promptTokens: 100, completionTokens: 20, totalTokens: 120 };
const AGENT = 'invoke_agent';

function turnsOf(spans: readonly ExportedSpan[], agent: string): ExportedSpan[] {
  const turns = spans.filter(({ name, attributes }) => name === `${AGENT} ${agent}` && attributes['longhaul.turn'] !== undefined);
  return turns.toSorted((one, other) => Number(one.attributes['longhaul.turn']) - Number(other.attributes['longhaul.turn']));
}

/** Returns the spans without a parent among them, by their names. */
function rootless(spans: readonly ExportedSpan[]): string[] {
  return spans.filter(({ parentSpanId }) => !spans.some(({ spanId }) => spanId === parentSpanId)).map(({ name }) => name);
}

test('each turn of a session is a trace as soon as it has ended, links to the previous turn, and is the same in a fold of the record', async () => {
  await using testbed = await Testbed.open();
  const sdk = new RecordingSdk(idGenerator);
  const meterProvider = new RecordingMeter();
  const scripted = scriptedModel([say('one', { usage }), { ...callTool('search', { query: 'Q' }), usage }, say('two', { usage })]);
  const telemetry = new Telemetry(plainApi(sdk), { meterProvider });
  await testbed.work({ agents: [assistant], providers: { scripted }, telemetry });
  const session = testbed.client.session(assistant, { id: `traced-${testbed.taskQueue}`, taskQueue: testbed.taskQueue });
  await session.ask('first');
  await until(() => turnsOf(sdk.exported, 'assistant').length === 1, 'the span of the first turn');
  const answered = await session.ask('second');
  await until(() => turnsOf(sdk.exported, 'assistant').length === 2, 'the span of the second turn');

  const [first, second] = turnsOf(sdk.exported, 'assistant');
  const traces = Map.groupBy(sdk.exported, ({ traceId }) => traceId);
  expect(traces.size).toBe(2);
  for (const spans of traces.values()) expect(rootless(spans)).toEqual([`${AGENT} assistant`]);
  expect(
    traces
      .get(second?.traceId ?? '')
      ?.map(({ name }) => name)
      .toSorted(),
  ).toEqual(['chat model-1', 'chat model-1', 'execute_tool search', `${AGENT} assistant`]);
  expect(first?.links).toBeUndefined();
  expect(second?.links).toEqual([{ traceId: first?.traceId, spanId: first?.spanId }]);
  expect(second?.attributes['gen_ai.usage.input_tokens']).toBe(answered.usage.promptTokens);
  expect(await session.run.traceContext({ turn: 2 })).toEqual({ traceId: second?.traceId, spanId: second?.spanId });
  expect(meterProvider.measured.filter(({ name }) => name === 'gen_ai.invoke_agent.inference_calls').map(({ value }) => value)).toEqual([
    1, 2,
  ]);

  // Another process makes the same spans from the record.
  const folded = (await session.run.exportTrace()).resourceSpans[0]?.scopeSpans[0]?.spans ?? [];
  expect(
    folded.map(({ traceId, spanId, startTimeUnixNano, endTimeUnixNano }) => ({ traceId, spanId, startTimeUnixNano, endTimeUnixNano })),
  ).toEqual(
    [first, second].map((span) => ({
      traceId: span?.traceId,
      spanId: span?.spanId,
      startTimeUnixNano: `${span?.startTime}000000`,
      endTimeUnixNano: `${span?.endTime}000000`,
    })),
  );
  await session.close();
  await until(() => meterProvider.sum('longhaul.runs.ended') === 1, 'the end of the session');
  expect(meterProvider.sum('longhaul.runs.started')).toBe(1);
  expect(sdk.exported.filter(({ name }) => name === `${AGENT} assistant`)).toHaveLength(2);
  expect(telemetry.dropped).toBe(0);
});

test("a worker that has not run the workflow of a session finds the turn of a call, and the turn of a child's call", async () => {
  await using testbed = await Testbed.open();
  const sdk = new RecordingSdk(idGenerator);
  const below = defineAgent({ name: 'below', model: 'scripted/model-1', instructions: 'Answer.', description: 'Helps' });
  const above = defineAgent({ name: 'above', model: 'scripted/model-1', instructions: 'Answer.', tools: [agentTool(below)] });
  const script = [say('one'), callTool('below', { request: 'Q' }), say('helped'), say('two')];
  const scripted = scriptedModel(script);
  const telemetry = new Telemetry(plainApi(sdk), {});
  const options = { agents: [above, below], providers: { scripted }, telemetry };
  await testbed.work(options);
  const session = testbed.client.session(above, { id: `traced-${testbed.taskQueue}`, taskQueue: testbed.taskQueue });
  await session.ask('first');
  // What the process has heard of the session is gone.
  await testbed.stopWorkers();
  await testbed.work(options);
  await session.ask('second');
  await until(() => turnsOf(sdk.exported, 'above').length === 2, 'the span of the second turn');
  const second = turnsOf(sdk.exported, 'above')[1];
  const inTurn = sdk.exported.filter(({ traceId }) => traceId === second?.traceId);
  expect(rootless(inTurn)).toEqual([`${AGENT} above`]);
  expect(inTurn.map(({ name }) => name).toSorted()).toEqual([
    'chat model-1',
    'chat model-1',
    'chat model-1',
    'execute_tool below',
    `${AGENT} above`,
    `${AGENT} below`,
  ]);
});

test("traces are repaired from the records with their ids and contents, including a terminated run's", async () => {
  await using testbed = await Testbed.open();
  const since = new Date();
  const sdk = new RecordingSdk(idGenerator);
  const telemetry = new Telemetry(plainApi(sdk), {});
  await expect(telemetry.repair({ since: '1h' })).rejects.toThrow(/create a worker with this telemetry first/);
  const scripted = scriptedModel([say('one', { usage })]);
  await testbed.work({ agents: [assistant], providers: { scripted }, telemetry });
  const result = await (await testbed.client.start(assistant, { input: 'Q', taskQueue: testbed.taskQueue })).result({ traceContext: true });
  await until(() => sdk.exported.some(({ name }) => name === `${AGENT} assistant`), 'the span of the run');
  const before = sdk.exported.find(({ name }) => name === `${AGENT} assistant`);
  expect(result.traceContext).toEqual({ traceId: before?.traceId, spanId: before?.spanId });
  const where = ['--address', testbed.address, '--namespace', testbed.client.temporal.options.namespace];
  const exported = await callCli(['trace', result.runId, '--export', ...where]);
  expect([exported.exitCode, exported.stderr]).toEqual([0, '']);
  expect(JSON.parse(exported.stdout)).toEqual(JSON.parse(JSON.stringify(await testbed.client.handle(result.runId).exportTrace())));
  expect(exported.stdout).toContain(before?.spanId);
  const cutOff = await testbed.client.start(assistant, { input: 'Q', taskQueue: `${testbed.taskQueue}-without-workers` });
  await testbed.client.temporal.workflow.getHandle(cutOff.runId).terminate('enough');
  const ofRuns = (): ExportedSpan[] =>
    sdk.exported.filter(({ attributes }) => [result.runId, cutOff.runId].includes(String(attributes['longhaul.run.id'])));
  const place = await cutOff.traceContext();
  await until(async () => {
    // Lists of the server lag behind.
    await telemetry.repair({ since });
    return ofRuns().some(({ spanId }) => spanId === place.spanId);
  }, 'the repaired trace');
  const roots = ofRuns().filter(({ name, attributes }) => name === `${AGENT} assistant` && attributes['longhaul.run.id'] === result.runId);
  expect(roots.length).toBeGreaterThan(1);
  for (const root of roots) expect(root).toEqual(before);
  const terminated = ofRuns().find(({ spanId }) => spanId === place.spanId);
  expect(terminated).toMatchObject({ traceId: place.traceId, attributes: { 'longhaul.status': 'terminated' }, status: { code: 2 } });
});
