import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { z } from 'zod';
import { agent, ask, defineProgram, parallel, program, unit } from '../../../src/define/program/index.ts';
import { defineAgent, defineTool } from '../../../src/index.ts';
import type { ProgramHandle } from '../../../src/client/run-handle.ts';
import type { ModelClient } from '../../../src/core/domain/model.ts';
import { callTool, scriptedModel, structured } from '../../../src/testing/index.ts';
import { type Testbed, until } from '../testbed/testbed.ts';

/** A tool that needs a decision. */
export const guarded = defineTool({
  name: 'guarded',
  description: 'Needs a person.',
  parameters: z.object({ id: z.string() }),
  approval: 'always',
  execute: ({ id }) => `did ${id}`,
});

/** An agent that calls it. */
export const careful = defineAgent({
  name: 'careful',
  instructions: 'You ask first.',
  model: 'child/model',
  output: z.object({ letter: z.string() }),
  tools: [guarded],
});

/** A program that runs the agent. */
export const inner = defineProgram({
  name: 'inner',
  model: 'child/model',
  input: z.object({ name: z.string() }),
  units: [unit('one', {}, [agent('Letter', careful, 'Write to {{input.name}}')])],
  output: '{{one.Letter.letter}}',
});

/** A program that runs that program. */
export const outer = defineProgram({
  name: 'outer',
  model: 'parent/model',
  units: [unit('all', {}, [program('Inner', inner, { name: 'Ann' }), ask('End', 'Was it {{Inner}}?')])],
});

/** Returns the model of the agent. */
export const letters = (): ModelClient => scriptedModel([callTool('guarded', { id: '7' }), structured({ letter: 'Dear Ann' })]);

/** Starts a program. */
export async function begun(testbed: Testbed, started: typeof outer = outer): Promise<ProgramHandle<unknown>> {
  return testbed.client.startProgram(started, { taskQueue: testbed.taskQueue, runId: `children-${randomUUID()}` });
}

/** Waits until a child asks for a decision, and returns it as its ancestor lists it. */
export async function waitingBelow(handle: ProgramHandle<unknown>): Promise<{ runId?: string; callId: string; digest: string }> {
  await until(async () => (await handle.approvals()).pending.length > 0, 'the approval of a child', 40);
  const [waiting] = (await handle.approvals()).pending;
  if (waiting === undefined) throw new Error('nothing waits');
  return waiting;
}

/** The notes in the events of a run. */
export async function notesOf(handle: ProgramHandle<unknown>): Promise<string[]> {
  const notes: string[] = [];
  for await (const { step } of handle.events())
    if (step !== undefined) notes.push(`${step.at} ${step.type} ${step.status ?? ''} ${step.child ?? ''}`);
  return notes;
}

/** Expects that a run reads the same from its history as from its worker. */
export async function expectSameReadBack(testbed: Testbed, handle: ProgramHandle<unknown>): Promise<void> {
  const notes = await notesOf(handle);
  await testbed.stopWorkers();
  expect(await notesOf(handle)).toEqual(notes);
}

/** A program whose steps continue while its child waits. */
export const busy = defineProgram({
  name: 'busy',
  model: 'parent/model',
  units: [
    unit('all', {}, [
      parallel('Both', [
        [agent('Letter', careful, 'Write')],
        Array.from({ length: 8 }, (_, index) => ask(`Ask${index}`, `Question ${index}`)),
      ]),
      ask('End', 'Was it {{Letter.letter}}?'),
    ]),
  ],
});

/** A program that starts a lost child again. */
export const retried = defineProgram({
  name: 'retried',
  units: [unit('all', {}, [agent('Letter', careful, 'Write', { refine: { maxAttempts: 2 } })])],
});
