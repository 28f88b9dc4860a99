import { randomUUID } from 'node:crypto';
import { expect, inject, test } from 'vitest';
import { z } from 'zod';
import type { ProgramHandle, RunHandle } from '../../../src/client/run-handle.ts';
import { ask, defineProgram, unit } from '../../../src/define/program/index.ts';
import type { ProgramDocument } from '../../../src/core/domain/program-document.ts';
import type { ProgramResult } from '../../../src/core/domain/result.ts';
import type { Event } from '../../../src/core/domain/record.ts';
import type { AnyProgram } from '../../../src/define/program/program-definition.ts';
import { defineAnchor } from '../../../src/index.ts';
import { approve, callTool, say, scriptedModel, type ScriptEntry, structured, testProgram } from '../../../src/testing/index.ts';
import { Replayer } from '../../../worker/index.ts';
import { historyOf, Testbed } from '../testbed/testbed.ts';
import { expectSameReadBack, guarded, waitingBelow } from './programs-with-children.ts';

const PERSONA = 'a persona that is long enough to be found wherever it is stored';
const noThreats = defineAnchor({
  name: 'NoThreats',
  reject: ['threats'],
  check: (text) => (text.includes('lawyer') ? ['The letter threatens'] : []),
});

const desk = defineProgram({
  name: 'desk',
  model: 'scripted/model',
  input: z.object({ name: z.string() }),
  units: [
    unit('reply', { persona: `${PERSONA} {{input.name}}`, anchors: ['NoThreats'] }, [
      ask('Letter', 'Write to {{input.name}}', {
        tools: [guarded],
        output: z.object({ letter: z.string() }),
        refine: { maxAttempts: 2 },
      }),
      ask('Title', 'Name {{Letter.letter}}'),
    ]),
  ],
});

const SCRIPT: ScriptEntry[] = [
  structured({ letter: 'My lawyer' }),
  callTool('guarded', { id: '7' }),
  structured({ letter: 'Dear Ann' }),
  say('A letter'),
];

async function begun(testbed: Testbed, program: AnyProgram | ProgramDocument = desk): Promise<ProgramHandle<unknown>> {
  return testbed.client.startProgram(program as ProgramDocument, {
    taskQueue: testbed.taskQueue,
    runId: `ask-tools-${randomUUID()}`,
    input: { name: 'Ann' },
    deps: { user: 1 },
  });
}

async function eventsOf(handle: ProgramHandle<unknown>): Promise<Event[]> {
  const events: Event[] = [];
  for await (const event of handle.events()) events.push(event);
  return events;
}

/** The events and steps of a run. */
async function recordOf(handle: RunHandle<unknown>): Promise<unknown[]> {
  const record: unknown[] = await handle.steps();
  for await (const event of handle.events()) record.push(event);
  return record;
}

test('an ask with tools runs as in memory, and its tool is decided through the program', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel(SCRIPT);
  await testbed.work({ agents: [], programs: [desk], anchors: [noThreats], providers: { scripted } });
  const handle = await begun(testbed);
  const below = `${handle.runId}/reply.Letter#2`;
  const waiting = await waitingBelow(handle);
  expect(waiting.runId).toBe(below);
  await handle.approve(waiting.callId);
  const result = await handle.result();
  const memory = await testProgram(desk, {
    input: { name: 'Ann' },
    deps: { user: 1 },
    model: scriptedModel(SCRIPT),
    anchors: [noThreats],
    decide: () => approve(),
  });
  expect(comparable({ result, events: await eventsOf(handle) })).toEqual(comparable(memory));
  expect(scripted.requests).toEqual(memory.requests);
  expect((await handle.trace()).toJSON()).toMatchObject({ program_name: 'desk' });

  const child = testbed.client.handle(below);
  expect((await child.result()).verdict).toMatchObject({ anchors: { passed: true } });
  expect((await testbed.client.handle(`${handle.runId}/reply.Letter`).result()).verdict).toMatchObject({ anchors: { passed: false } });
  const history = await historyOf(testbed, below);
  expect(history.flatMap(texts).filter((text) => text.includes(PERSONA))).toHaveLength(1);
  const replayer = new Replayer({ worker: { workflowBundle: { codePath: inject('workflowBundlePath') } } });
  expect(await replayer.replay(below, history)).toEqual({ type: 'ok' });
  expect(await replayer.replay(handle.runId, await historyOf(testbed, handle.runId))).toEqual({ type: 'ok' });
  await replayer.close();
  const told = await recordOf(child);
  await expectSameReadBack(testbed, handle);
  expect(await recordOf(child)).toEqual(told);
}, 60_000);

/** All bytes in a value, as text. */
function texts(value: unknown): string[] {
  if (value instanceof Uint8Array) return [Buffer.from(value).toString()];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(texts) : [];
}

/** Returns the result and the events of a run without ids and times. */
function comparable({ result, events }: { result: ProgramResult<unknown>; events: readonly Event[] }): unknown {
  const kept = events.map(({ author, content, step, usage }) => ({ author, content, step, usage }));
  const timeless = (key: string, value: unknown): unknown => (TIMES.has(key) ? 0 : value);
  return JSON.parse(JSON.stringify({ result, kept }, timeless).replaceAll(result.runId, 'the run'));
}

const TIMES: ReadonlySet<string> = new Set(['startedAt', 'durationMs', 'durationSeconds', 'startTime', 'endTime']);

test('an ask with tools is taken over from an earlier run if nothing about it has changed', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([
    structured({ letter: 'Dear Ann' }),
    say('A letter'),
    say('Another'),
    structured({ letter: 'Hi' }),
    say('Last'),
  ]);
  await testbed.work({ agents: [], programs: [desk], anchors: [noThreats], providers: { scripted } });
  const first = await begun(testbed);
  await first.result();
  const options = { taskQueue: testbed.taskQueue, input: { name: 'Ann' }, resume: { run: first.runId, from: 'reply.Title' } };
  const same = await testbed.client.runProgram(desk, options);
  expect(same.units[0]?.steps).toMatchObject([{ reused: true, output: { letter: 'Dear Ann' } }, { output: 'Another' }]);
  const edited = JSON.parse(JSON.stringify(desk)) as ProgramDocument;
  Object.assign(edited.units[0]?.steps[0]?.ask ?? {}, { limits: { steps: 5 } });
  const changed = await testbed.client.runProgram(edited, options);
  expect(changed.units[0]?.steps).toMatchObject([{ output: { letter: 'Hi' } }, { output: 'Last' }]);
}, 60_000);
