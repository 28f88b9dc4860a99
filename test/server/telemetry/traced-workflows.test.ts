import { expect, test } from 'vitest';
import { agent, ask, defineProgram, unit } from '../../../src/define/program/index.ts';
import { defineAgent, defineFlow } from '../../../src/index.ts';
import { idGenerator } from '../../../src/telemetry/ids.ts';
import { Telemetry } from '../../../src/telemetry/telemetry.ts';
import { say, scriptedModel } from '../../../src/testing/index.ts';
import { type ExportedSpan, plainApi, RecordingSdk } from '../../telemetry/recording-sdk.ts';
import { Testbed, until } from '../testbed/testbed.ts';

const usage = { promptTokens: 100, completionTokens: 20, totalTokens: 120 };
const writer = defineAgent({ name: 'writer', model: 'scripted/m', instructions: 'You write.' });
const critic = defineAgent({ name: 'critic', model: 'scripted/m', instructions: 'You criticize.' });
const inTurn = defineFlow({ name: 'in_turn', kind: 'sequential', agents: [writer, critic] });
const together = defineFlow({ name: 'together', kind: 'parallel', agents: [writer, critic] });
const report = defineProgram({
  name: 'report',
  model: 'scripted/m',
  units: [unit('u', {}, [ask('Plan', 'Plan it.'), agent('Text', writer, 'Write it.')])],
});

/** The spans below a span, by their names, each with those below it. */
function below(spans: readonly ExportedSpan[], parent: string | undefined): object {
  const found = spans
    .filter(({ parentSpanId }) => parentSpanId === parent)
    .map(({ name, spanId }) => [name, below(spans, spanId)] as const);
  return Object.fromEntries(found.toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

test.each([
  ['program', { 'chat m': {}, 'longhaul.step u.Text': { 'invoke_agent writer': { 'chat m': {} } } }],
  ['flow whose agents act in turn', { 'chat m': {} }],
  [
    'flow whose agents act together',
    {
      'execute_tool critic': { 'invoke_agent critic': { 'chat m': {} } },
      'execute_tool writer': { 'invoke_agent writer': { 'chat m': {} } },
    },
  ],
])('a run of a %s is one trace below "invoke_workflow", whoever reports it, with the tokens of its result', async (kind, expected) => {
  await using testbed = await Testbed.open();
  const sdk = new RecordingSdk(idGenerator);
  const scripted = scriptedModel([say('one', { usage }), say('two', { usage })]);
  const agents = [inTurn, together, writer, critic];
  await testbed.work({ agents, programs: [report], providers: { scripted }, telemetry: new Telemetry(plainApi(sdk), {}) });
  const { taskQueue, client } = testbed;
  const { runId } =
    kind === 'program'
      ? await client.startProgram(report, { taskQueue })
      : await client.start(kind.endsWith('together') ? together : inTurn, { input: 'Q', taskQueue });
  const run = client.handle(runId);
  const result = await run.result();
  expect(result).toMatchObject({ status: 'completed' });
  const root = `invoke_workflow ${result.agentName}`;
  await until(() => sdk.exported.some(({ name }) => name === root), 'the span of the run');

  const spans = sdk.exported;
  expect(below(spans, undefined)).toEqual({ [root]: expected });
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
  const chats = spans.filter(({ name }) => name === 'chat m');
  expect(chats.reduce((sum, { attributes }) => sum + Number(attributes['gen_ai.usage.input_tokens']), 0)).toBe(200);
  expect(result.treeUsage.promptTokens).toBe(200);

  // Whoever folds the record later makes the same span.
  const ofRun = spans.find(({ name }) => name === root);
  const folded = (await run.exportTrace()).resourceSpans[0]?.scopeSpans[0]?.spans.find(({ name }) => name === root);
  expect([folded?.spanId, folded?.startTimeUnixNano, folded?.endTimeUnixNano]).toEqual([
    ofRun?.spanId,
    `${ofRun?.startTime}000000`,
    `${ofRun?.endTime}000000`,
  ]);
});
