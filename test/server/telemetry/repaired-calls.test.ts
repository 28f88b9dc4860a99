import { expect, test } from 'vitest';
import { z } from 'zod';
import { ask, defineProgram, unit } from '../../../src/define/program/index.ts';
import { type AnyAgent, defineAgent, defineTool } from '../../../src/index.ts';
import { idGenerator } from '../../../src/telemetry/ids.ts';
import type { OtlpTraces } from '../../../src/telemetry/otlp.ts';
import { Telemetry } from '../../../src/telemetry/telemetry.ts';
import { callTool, failWith, say, scriptedModel } from '../../../src/testing/index.ts';
import { callCli } from '../../cli/call-cli.ts';
import { type ExportedSpan, plainApi, RecordingSdk } from '../../telemetry/recording-sdk.ts';
import type { CreateWorkerOptions } from '../../../worker/index.ts';
import { Testbed, until } from '../testbed/testbed.ts';

const usage = { promptTokens: 100, completionTokens: 20, totalTokens: 120 };

/** Returns an agent with a tool that answers, and a tool that fails. */
function clerkOf({ name, tier, ...options }: { name: string; tier?: 'local'; burst?: true }) {
  const common = { parameters: z.object({}), ...(tier === undefined ? {} : { tier }) };
  const read = defineTool({ name: 'read', description: 'Reads', ...common, execute: () => 'text' });
  const broken = defineTool({
    name: 'broken',
    description: 'Fails',
    ...common,
    retryOn: 'none',
    execute: () => {
      throw new Error('no');
    },
  });
  return defineAgent({ name, model: 'scripted/model-1', instructions: 'Answer.', tools: [read, broken], ...options });
}

const clerk = clerkOf({ name: 'clerk' });
const bursting = clerkOf({ name: 'bursting', burst: true });
const local = clerkOf({ name: 'local', tier: 'local' });
const program = defineProgram({ name: 'asks', model: 'scripted/model-1', units: [unit('u', {}, [ask('First', 'Q')])] });

/** What a span says other than its times: the worker's times differ from the server's. */
function saying({ name, traceId, spanId, parentSpanId, attributes, status }: ExportedSpan): object {
  return { name, traceId, spanId, parentSpanId, attributes, status };
}

function idsIn({ resourceSpans }: OtlpTraces): string[] {
  return resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans.map(({ spanId }) => spanId)));
}

/** How a run is started, on a worker that has these parts. */
interface Started {
  parts: Pick<CreateWorkerOptions, 'agents' | 'programs' | 'limits'>;
  start: (testbed: Testbed) => Promise<{ runId: string }>;
}

/** Returns how a run of an agent is started. */
function runOf(agent: AnyAgent, limits?: CreateWorkerOptions['limits']): Started {
  const parts = { agents: [agent], ...(limits === undefined ? {} : { limits }) };
  return { parts, start: ({ client, taskQueue }) => client.start(agent, { input: 'Q', taskQueue }) };
}

/** Calls wait for a second each, and are parked for that. */
const limits = { scripted: { requestsPerMinute: 60, holdSlotFor: 0 } };

const ofProgram: Started = {
  parts: { agents: [], programs: [program] },
  start: ({ client, taskQueue }) => client.startProgram(program, { taskQueue }),
};

test.each<[what: string, started: Started, calls: number]>([
  ['of an agent', runOf(clerk), 5],
  ['of bursts', runOf(bursting), 5],
  ['of bursts that wait for limits', runOf(bursting, limits), 5],
  ['of local tools', runOf(local), 5],
  ['of a program', ofProgram, 1],
])(
  'the calls %s that have ended are in the record as their workers have reported them, and a repair adds those that the backend lacks',
  async (_, { parts, start }, calls) => {
    await using testbed = await Testbed.open();
    const since = new Date();
    const sdk = new RecordingSdk(idGenerator);
    const telemetry = new Telemetry(plainApi(sdk), {});
    const script = [
      { ...callTool('read', {}), usage },
      failWith('model_server_error'),
      { ...callTool('broken', {}), usage },
      { ...say('one'), usage },
    ];
    const scripted = scriptedModel(calls === 1 ? script.slice(-1) : script);
    await testbed.work({ ...parts, providers: { scripted }, telemetry });
    const { client } = testbed;
    const { runId } = await start(testbed);
    const run = client.handle(runId);
    await run.result();
    const place = await run.traceContext();
    // A repair reports all runs of the server, including the runs of other tests.
    const ofRun = (): ExportedSpan[] => sdk.exported.filter(({ traceId }) => traceId === place.traceId);
    const ofCalls = (): ExportedSpan[] => ofRun().filter(({ name }) => /^(?:chat|execute_tool) /.test(name));
    await until(() => sdk.exported.some(({ spanId }) => spanId === place.spanId), 'the span of the run');
    // The first failure of a retried model call is in no record.
    const inRecord = ({ attributes }: ExportedSpan): boolean => [undefined, 'tool_failed'].includes(attributes['error.type'] as string);
    await until(() => ofCalls().filter(inRecord).length >= calls, 'the spans of calls');
    const recorded = idsIn(await run.exportTrace({ calls: true })).filter((id) => id !== place.spanId);
    expect(recorded).toHaveLength(calls);
    await until(() => recorded.every((id) => ofCalls().some(({ spanId }) => spanId === id)), 'the spans of the calls in the record');

    const reported = ofCalls();
    const ended = reported.filter(({ spanId }) => recorded.includes(spanId));
    // A workflow task that a busy machine makes again runs its local tools again: the record has the last time alone.
    const others = reported.filter((one) => inRecord(one) && !ended.includes(one));
    expect(others.filter(({ name }) => !parts.agents.includes(local) || !name.startsWith('execute_tool '))).toEqual([]);
    const before = ofCalls().length;
    const known = new Set<string>();
    const repair = (): Promise<unknown> => telemetry.repair({ since, calls: { endedFor: 1, storedIn: async () => known } });
    await until(async () => {
      await repair();
      return ofCalls().length > before;
    }, 'the run in the list of the server');
    const repaired = ofCalls().slice(reported.length, reported.length + calls);
    const bySpan = (one: ExportedSpan, other: ExportedSpan): number => (one.spanId < other.spanId ? -1 : 1);
    expect(repaired.toSorted(bySpan).map(saying)).toEqual(ended.toSorted(bySpan).map(saying));
    for (const { startTime = NaN, endTime } of repaired) expect(endTime).toBeGreaterThanOrEqual(startTime);
    const printed = await callCli(['trace', runId, '--export', '--calls', '--address', testbed.address]);
    expect([printed.exitCode, printed.stderr]).toEqual([0, '']);
    expect(idsIn(JSON.parse(printed.stdout) as OtlpTraces).toSorted()).toEqual(
      [place.spanId, ...ended.map(({ spanId }) => spanId)].toSorted(),
    );

    for (const { spanId } of ended.slice(1)) known.add(spanId);
    const all = ofCalls().length;
    await repair();
    expect(
      ofCalls()
        .slice(all)
        .map(({ spanId }) => spanId),
    ).toEqual([ended[0]?.spanId]);
  },
);

test.each([{ burst: true as const }, {}])(
  'a model call that is made again after as many events has other spans, and no more in a repair: %j',
  async (how) => {
    await using testbed = await Testbed.open();
    const since = new Date();
    const sdk = new RecordingSdk(idGenerator);
    const telemetry = new Telemetry(plainApi(sdk), {});
    // The first call has two attempts. It is too long for its model, so the loop makes it again, and a larger model is called.
    const tooLong = failWith('context_length_exceeded');
    const small = scriptedModel([failWith('model_conflict'), tooLong, tooLong], { capabilities: ofSize(1_000) });
    const large = scriptedModel([say('done')], { capabilities: ofSize(2_000_000) });
    const agent = defineAgent({ name: 'listed', model: ['small/m', 'large/m'], fallback: { on: ['model_forbidden'] }, ...how });
    await testbed.work({ agents: [agent], providers: { small, large }, telemetry });
    const run = await testbed.client.start(agent, { input: 'Q', taskQueue: testbed.taskQueue });
    expect(await run.result()).toMatchObject({ status: 'completed', output: 'done' });
    small.assertUsedUp();
    const { traceId } = await run.traceContext();
    const ofCalls = (): ExportedSpan[] => sdk.exported.filter((span) => span.traceId === traceId && span.name.startsWith('chat '));
    await until(() => ofCalls().length === 4, 'the spans of calls');
    const reported = ofCalls();
    expect(new Set(reported.map(({ spanId }) => spanId)).size).toBe(4);
    await until(async () => {
      await telemetry.repair({ since, calls: { endedFor: 1, storedIn: async () => new Set() } });
      return ofCalls().length > reported.length;
    }, 'the run in the list of the server');
    const [repaired] = ofCalls().slice(reported.length);
    const answered = reported.find(({ attributes }) => attributes['error.type'] === undefined);
    expect(repaired?.spanId).toBe(answered?.spanId);
  },
);

function ofSize(contextTokens: number): { structuredOutput: boolean; contextTokens: number } {
  return { structuredOutput: true, contextTokens };
}
