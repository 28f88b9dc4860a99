import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import { agentTool, defineAgent, defineTool } from '../../../src/index.ts';
import { idGenerator } from '../../../src/telemetry/ids.ts';
import { Telemetry, telemetry as telemetryOf } from '../../../src/telemetry/telemetry.ts';
import { callTool, failWith, say, scriptedModel } from '../../../src/testing/index.ts';
import { type ExportedSpan, plainApi, RecordingMeter, RecordingSdk } from '../../telemetry/recording-sdk.ts';
import { assistant } from '../testbed/agents.ts';
import { historyOf, Testbed, until } from '../testbed/testbed.ts';

const CALLER = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };
const TRACEPARENT = `00-${CALLER.traceId}-${CALLER.spanId}-01`;
const usage = { promptTokens: 100, completionTokens: 20, totalTokens: 120 };

/** Returns the names of spans whose parent was not exported. */
function orphans(spans: readonly ExportedSpan[], outside: string[] = []): string[] {
  const ids = new Set([...spans.map(({ spanId }) => spanId), ...outside]);
  return spans.filter(({ parentSpanId }) => parentSpanId !== undefined && !ids.has(parentSpanId)).map(({ name }) => name);
}

function namesOf(spans: readonly ExportedSpan[]): string[] {
  return spans.map(({ name }) => name).toSorted();
}

test('a run that continues as new is one trace below its caller, with the tokens of its result, and stores the traceparent once', async () => {
  await using testbed = await Testbed.open();
  const sdk = new RecordingSdk(idGenerator);
  const meterProvider = new RecordingMeter();
  const scripted = scriptedModel([
    { ...callTool('search', { query: 'sk-content' }), usage },
    failWith('model_server_error'),
    { ...callTool('broken', {}), usage },
    say('done', { usage }),
  ]);
  const telemetry = new Telemetry(plainApi(sdk), { meterProvider });
  await testbed.work({ agents: [assistant], providers: { scripted }, telemetry, continueAsNew: { events: 8 } });
  const run = await testbed.client.start(assistant, { input: 'Q', taskQueue: testbed.taskQueue, traceparent: TRACEPARENT });
  const result = await run.result();
  expect(result).toMatchObject({ status: 'completed' });
  await until(() => sdk.exported.some(({ name }) => name === 'invoke_agent assistant'), 'the span of the run');

  const spans = sdk.exported;
  expect(namesOf(spans)).toEqual([
    'chat model-1',
    'chat model-1',
    'chat model-1',
    'chat model-1',
    'execute_tool broken',
    'execute_tool search',
    'invoke_agent assistant',
  ]);
  expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([CALLER.traceId]));
  expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length);
  expect(orphans(spans, [CALLER.spanId])).toEqual([]);
  const chats = spans.filter(({ name }) => name === 'chat model-1');
  expect(chats.filter(({ attributes }) => attributes['error.type'] === 'model_server_error')).toHaveLength(1);
  const inputTokens = chats.map(({ attributes }) => Number(attributes['gen_ai.usage.input_tokens'] ?? 0));
  expect(inputTokens.reduce((sum, one) => sum + one, 0)).toBe(result.usage.promptTokens);
  expect(meterProvider.sum('gen_ai.client.inference.usage.input_tokens')).toBe(result.usage.promptTokens);
  expect(meterProvider.sum('longhaul.runs.ended')).toBe(1);
  expect(telemetry.dropped).toBe(0);
  // No content without the option. The place of the caller is in the first execution alone.
  expect(JSON.stringify(spans)).not.toContain('sk-content');
  const newest = (await historyOf(testbed, run.runId))
    .flatMap((event) => [event.workflowExecutionStartedEventAttributes, event.activityTaskScheduledEventAttributes])
    .map((scheduled) => Buffer.from(scheduled?.input?.payloads?.[0]?.data ?? []).toString())
    .join('\n');
  expect(newest).toContain('continuedState');
  expect(newest).not.toContain(CALLER.traceId);

  // Whoever folds the record later makes the same span of the run.
  const ofRun = spans.find(({ name }) => name === 'invoke_agent assistant');
  const folded = (await run.exportTrace()).resourceSpans[0]?.scopeSpans[0]?.spans[0];
  expect(folded).toMatchObject({ traceId: CALLER.traceId, spanId: ofRun?.spanId, parentSpanId: CALLER.spanId, name: ofRun?.name });
  expect(folded?.startTimeUnixNano).toBe(`${ofRun?.startTime}000000`);
  expect(folded?.endTimeUnixNano).toBe(`${ofRun?.endTime}000000`);
});

test('a child is below the call of its parent, and content is exported only if the worker enables it, without secrets', async () => {
  await using testbed = await Testbed.open();
  const sdk = new RecordingSdk(idGenerator);
  process.env['TRACED_TOKEN'] = 'sk-very-secret-value';
  const keys: string[] = [];
  const show = defineTool({
    name: 'show',
    description: 'Shows something',
    parameters: z.object({ what: z.string() }),
    execute: async ({ what }, { secret, idempotencyKey }) => {
      keys.push(idempotencyKey);
      return `${what} ${await secret('traced-token')}`;
    },
  });
  const below = defineAgent({ name: 'below', model: 'scripted/model-1', instructions: 'Answer.', description: 'Helps', tools: [show] });
  const above = defineAgent({ name: 'above', model: 'scripted/model-1', instructions: 'Answer.', tools: [agentTool(below)] });
  const scripted = scriptedModel([callTool('below', { request: 'Q' }), callTool('show', { what: 'a thing' }), say('shown'), say('done')]);
  const telemetry = new Telemetry(plainApi(sdk), {});
  await testbed.work({ agents: [above, below], providers: { scripted }, telemetry, captureContent: 'redacted' });
  const result = await testbed.client.run(above, { input: 'Q', taskQueue: testbed.taskQueue });
  expect(result).toMatchObject({ status: 'completed', output: 'done' });
  await until(() => sdk.exported.some(({ name }) => name === 'invoke_agent above'), 'the span of the run');

  const spans = sdk.exported;
  expect(orphans(spans)).toEqual([]);
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
  const call = spans.find(({ name }) => name === 'execute_tool below');
  expect(spans.find(({ name }) => name === 'invoke_agent below')?.parentSpanId).toBe(call?.spanId);
  expect(spans.filter(({ parentSpanId }) => parentSpanId === undefined).map(({ name }) => name)).toEqual(['invoke_agent above']);
  const shown = spans.find(({ name }) => name === 'execute_tool show');
  expect(shown?.attributes['gen_ai.tool.call.arguments']).toBe('{"what":"a thing"}');
  expect(shown?.attributes['gen_ai.tool.call.result']).toContain('a thing');
  expect(JSON.stringify(spans)).not.toContain('sk-very-secret-value');
  // Nor the idempotency key of an effect, nor a digest of it.
  const digests = ['sha256', 'sha1', 'md5'].flatMap((algorithm) =>
    (['hex', 'base64', 'base64url'] as const).map((encoding) =>
      createHash(algorithm)
        .update(keys[0] ?? '')
        .digest(encoding),
    ),
  );
  expect(keys).toHaveLength(1);
  for (const text of [...keys, ...digests.map((digest) => digest.slice(0, 16))]) expect(JSON.stringify(spans)).not.toContain(text);
});

test('a collector that never answers holds up no run', async () => {
  await using testbed = await Testbed.open();
  const asked: string[] = [];
  const silent = createServer((request) => void asked.push(request.url ?? ''));
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', `http://127.0.0.1:${(silent.address() as AddressInfo).port}`);
  const reported = await telemetryOf({ meterProvider: new RecordingMeter() });
  const scripted = scriptedModel([callTool('search', { query: 'Q' }), say('done')]);
  await testbed.work({ agents: [assistant], providers: { scripted }, telemetry: reported });
  const result = await testbed.client.run(assistant, { input: 'Q', taskQueue: testbed.taskQueue });
  expect(result).toMatchObject({ status: 'completed', output: 'done' });
  await until(() => asked.includes('/v1/traces'), 'spans are on their way');
  // No span has arrived, and each is counted.
  silent.closeAllConnections();
  silent.close();
  await reported.flush();
  expect(reported.dropped).toBe(4);
});

test('a start with an invalid traceparent is refused before anything is sent', async () => {
  await using testbed = await Testbed.open();
  await expect(testbed.client.start(assistant, { input: 'Q', taskQueue: testbed.taskQueue, traceparent: 'a trace' })).rejects.toMatchObject(
    {
      code: 'invalid_input',
      message: 'The run cannot start: "traceparent" is "a trace": write "00-<trace id>-<span id>-01", or leave it out',
    },
  );
});
