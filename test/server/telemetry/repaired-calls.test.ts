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
import { Testbed, until } from '../testbed/testbed.ts';

const usage = { promptTokens: 100, completionTokens: 20, totalTokens: 120 };

/** Returns an agent with a tool that answers, and one that fails. */
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

/** What a span says besides its times: those of a worker are not those of the server. */
function saying({ name, traceId, spanId, parentSpanId, attributes, status }: ExportedSpan): object {
  return { name, traceId, spanId, parentSpanId, attributes, status };
}

/** Returns how a run of an agent is started, on a worker that has it. */
function runOf(agent: AnyAgent): { parts: { agents: AnyAgent[] }; start: (testbed: Testbed) => Promise<{ runId: string }> } {
  return { parts: { agents: [agent] }, start: ({ client, taskQueue }) => client.start(agent, { input: 'Q', taskQueue }) };
}

const ofProgram = {
  parts: { agents: [], programs: [program] },
  start: ({ client, taskQueue }: Testbed) => client.startProgram(program, { taskQueue }),
};

test.each([
  ['of an agent', runOf(clerk), 5],
  ['of bursts', runOf(bursting), 5],
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
    // A repair reports all runs of the server, those of other tests, too.
    const ofRun = (): ExportedSpan[] => sdk.exported.filter(({ traceId }) => traceId === place.traceId);
    const ofCalls = (): ExportedSpan[] => ofRun().filter(({ name }) => /^(?:chat|execute_tool) /.test(name));
    await until(() => sdk.exported.some(({ spanId }) => spanId === place.spanId), 'the span of the run');
    // The first failure of a model call that was tried again is in no record.
    const inRecord = ({ attributes }: ExportedSpan): boolean => [undefined, 'tool_failed'].includes(attributes['error.type'] as string);
    await until(() => ofCalls().filter(inRecord).length === calls, 'the spans of calls');

    const reported = ofCalls();
    const ended = reported.filter(inRecord);
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
    const { resourceSpans } = JSON.parse(printed.stdout) as OtlpTraces;
    const ids = resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans.map(({ spanId }) => spanId)));
    expect(ids.toSorted()).toEqual([place.spanId, ...ended.map(({ spanId }) => spanId)].toSorted());

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
