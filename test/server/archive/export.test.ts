import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { ExportLine } from '../../../src/client/export-run.ts';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { callTool, hang, say, scriptedModel, together } from '../../../src/testing/index.ts';
import { callCli } from '../../cli/call-cli.ts';
import { EVERY_STEP, exported, JOURNEY, partsOf, traveller } from './exported.ts';
import { Testbed, until } from '../testbed/testbed.ts';

test('an export holds each event and each step of the chain once, in order, with the continuations and the ending of the run', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [traveller], providers: { scripted: scriptedModel(JOURNEY) }, continueAsNew: EVERY_STEP });
  const run = await testbed.client.start(traveller, { input: 'Q', taskQueue: testbed.taskQueue });
  const result = await run.result({ steps: true });
  const events = await Array.fromAsync(run.events());
  await testbed.stopWorkers();

  const { lines, types, offsets, steps, summary } = await exported(run.export());
  expect(lines[0]).toMatchObject({ type: 'run', runId: run.runId, agentName: 'traveller', startTime: result.startTime });
  expect(offsets).toEqual(events.map((_, offset) => offset));
  expect(lines.filter(({ type }) => type === 'event')).toEqual(events.map((event, offset) => ({ type: 'event', offset, ...event })));
  expect(steps).toEqual([1, 2, 3, 4]);
  expect(lines.filter(({ type }) => type === 'step')).toMatchObject(result.steps ?? []);
  const executions = lines.filter((line) => line.type === 'execution');
  expect(executions.map(({ number }) => number)).toEqual(executions.map((_, index) => index + 1));
  expect(executions.map(({ continuedFrom }) => continuedFrom)).toEqual([
    null,
    ...executions.slice(0, -1).map(({ executionId }) => executionId),
  ]);
  // A step comes right after the event that completed it.
  expect(types.filter((type) => type !== 'execution').slice(0, 5)).toEqual(['run', 'event', 'event', 'event', 'step']);
  expect(types.slice(-3)).toEqual(['usage', 'result', 'summary']);
  expect(lines.at(-3)).toMatchObject({ ...result.usage, toolCallsTotal: 4, toolCallsByName: { search: 3, broken: 1 } });
  expect(lines.at(-2)).toMatchObject({ status: 'completed', output: 'done', stepsUsed: 4 });
  expect(summary).toEqual({
    type: 'summary',
    version: 1,
    runId: run.runId,
    live: false,
    events: 8,
    steps: 4,
    executions: executions.length,
    gaps: [],
    missingSteps: [],
  });
}, 60_000);

test('an open run is exported up to its newest event', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([...JOURNEY.slice(0, 2), hang()]);
  await testbed.work({ agents: [traveller], providers: { scripted }, continueAsNew: EVERY_STEP });
  const run = await testbed.client.start(traveller, { input: 'Q', taskQueue: testbed.taskQueue });
  await until(() => scripted.requests.length === 3, 'the third model call');
  const { offsets, types, summary } = await exported(run.export());
  expect(offsets).toEqual([0, 1, 2, 3, 4]);
  expect(types).not.toContain('result');
  expect(summary).toMatchObject({ live: true, events: 5, steps: 2, gaps: [] });
}, 60_000);

test('a step of 10 MB is read and exported: 200 calls with results of 50 kB', async () => {
  await using testbed = await Testbed.open();
  const text = 'x'.repeat(50_000);
  const big = defineTool({
    name: 'big',
    description: 'Says much',
    parameters: z.object({ n: z.number() }),
    execute: ({ n }) => `${n}${text}`,
  });
  const agent = defineAgent({ name: 'wide', model: 'scripted/m', tools: [big] });
  const [first = say(''), ...others] = Array.from({ length: 200 }, (_, n) => callTool('big', { n }, `c${n}`));
  await testbed.work({ agents: [agent], providers: { scripted: scriptedModel([together(first, ...others), say('done')]) } });
  const run = await testbed.client.start(agent, { input: 'Q', taskQueue: testbed.taskQueue });
  expect(await run.result()).toMatchObject({ status: 'completed', toolCallsTotal: 200 });
  const [step] = await run.steps();
  expect(step?.toolCalls.map(({ result }) => result)).toEqual(Array.from({ length: 200 }, (_, n) => `${n}${text}`));
  const events = await Array.fromAsync(run.events());
  expect(events[2]?.content).toHaveLength(200);
  const directory = await mkdtemp(path.join(tmpdir(), 'longhaul-export-'));
  const file = path.join(directory, 'run.jsonl');
  const command = await callCli(['export', run.runId, '--output', file, '--address', testbed.address]);
  expect(command).toMatchObject({ exitCode: 0, stdout: '' });
  expect(await readdir(directory)).toEqual(['run.jsonl']);
  const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
  const { summary, steps } = partsOf(lines.map((line) => JSON.parse(line) as ExportLine));
  expect(summary).toMatchObject({ steps: 2, gaps: [], missingSteps: [] });
  expect(steps).toEqual([1, 2]);
  expect(lines.join('').length).toBeGreaterThan(20_000_000);
  await rm(directory, { recursive: true });
}, 120_000);

test('a terminated run is exported with the reason why it has no result, and a run that does not exist is not found', async () => {
  await using testbed = await Testbed.open();
  const run = await testbed.client.start('traveller', { input: 'Q', taskQueue: testbed.taskQueue });
  await testbed.client.temporal.workflow.getHandle(run.runId).terminate('an operator said so');
  const { lines, types } = await exported(run.export());
  expect(types).toEqual(['run', 'execution', 'failure', 'summary']);
  expect(lines[2]).toMatchObject({ code: 'run_terminated', message: expect.stringContaining('an operator said so') as string });
  await expect(exported(testbed.client.handle('nobody').export())).rejects.toMatchObject({ code: 'run_not_found' });
  expect((await callCli(['export', 'nobody', '--address', testbed.address])).exitCode).toBe(6);
});
