import { expect, test } from 'vitest';
import { z } from 'zod';
import { ask, defineProgram, unit } from '../../../src/define/program/index.ts';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { idGenerator } from '../../../src/telemetry/ids.ts';
import { Telemetry } from '../../../src/telemetry/telemetry.ts';
import { callTool, failWith, say, scriptedModel } from '../../../src/testing/index.ts';
import { type ExportedSpan, plainApi, RecordingSdk } from '../../telemetry/recording-sdk.ts';
import { Testbed, until } from '../testbed/testbed.ts';

const usage = { promptTokens: 100, completionTokens: 20, totalTokens: 120 };

const read = defineTool({ name: 'read', description: 'Reads', parameters: z.object({}), execute: () => 'text' });
const broken = defineTool({
  name: 'broken',
  description: 'Fails',
  parameters: z.object({}),
  retryOn: 'none',
  execute: () => {
    throw new Error('no');
  },
});
const clerk = defineAgent({ name: 'clerk', model: 'scripted/model-1', instructions: 'Answer.', tools: [read, broken] });
const program = defineProgram({ name: 'asks', model: 'scripted/model-1', units: [unit('u', {}, [ask('First', 'Q')])] });

/** What a span says besides its times: those of a worker are not those of the server. */
function saying({ name, traceId, spanId, parentSpanId, attributes, status }: ExportedSpan): object {
  return { name, traceId, spanId, parentSpanId, attributes, status };
}

test.each([
  ['of an agent', clerk, 5],
  ['of a program', program, 1],
])(
  'the calls %s that have ended are in the record as their workers have reported them, and a repair adds those that the backend lacks',
  async (_, what, calls) => {
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
    const scripted = scriptedModel(what === clerk ? script : script.slice(-1));
    const of = what === clerk ? { agents: [clerk] } : { agents: [], programs: [program] };
    await testbed.work({ ...of, providers: { scripted }, telemetry });
    const { taskQueue, client } = testbed;
    const { runId } =
      what === clerk ? await client.start(clerk, { input: 'Q', taskQueue }) : await client.startProgram(program, { taskQueue });
    const run = client.handle(runId);
    await run.result();
    const place = await run.traceContext();
    // A repair reports all runs of the server, those of other tests, too.
    const ofRun = (): ExportedSpan[] => sdk.exported.filter(({ traceId }) => traceId === place.traceId);
    const ofCalls = (): ExportedSpan[] => ofRun().filter(({ name }) => /^(?:chat|execute_tool) /.test(name));
    await until(() => sdk.exported.some(({ spanId }) => spanId === place.spanId), 'the span of the run');
    await until(() => ofCalls().filter(({ status }) => status?.code !== 2).length > 0, 'the spans of calls');

    const reported = ofCalls();
    // The first failure of a model call that was tried again is in no record.
    const ended = reported.filter(({ attributes }) => attributes['error.type'] === undefined || attributes['error.type'] === 'tool_failed');
    expect(ended).toHaveLength(calls);
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
