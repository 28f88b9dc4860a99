import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ConversationStep, pruneSteps, type PruneStrategy } from '../../../../src/core/domain/content.ts';

const SYSTEM: ConversationStep = { type: 'system', text: 'S' };
const TASK: ConversationStep = { type: 'task', content: 'T' };

function action(observation: string): ConversationStep {
  return { type: 'action', reply: 'r', observation };
}

function note(text: string): ConversationStep {
  return { type: 'scratchpad', reply: 'r', note: text };
}

function lastSteps(keep: number): PruneStrategy {
  return { strategy: 'last_steps', keep };
}

test('the last steps are kept, in their order', () => {
  expect(pruneSteps([SYSTEM, TASK, action('1'), action('2'), action('3')], lastSteps(2))).toEqual([SYSTEM, TASK, action('2'), action('3')]);
});

test('instructions and tasks are kept at their places, and do not count', () => {
  expect(pruneSteps([SYSTEM, action('1'), TASK, action('2'), TASK, action('3')], lastSteps(1))).toEqual([SYSTEM, TASK, TASK, action('3')]);
});

test('notes count among the last steps', () => {
  expect(pruneSteps([TASK, action('1'), note('n'), action('2')], lastSteps(2))).toEqual([TASK, note('n'), action('2')]);
});

test('none is kept if the number is zero or less', () => {
  expect(pruneSteps([SYSTEM, TASK, action('1')], lastSteps(0))).toEqual([SYSTEM, TASK]);
  expect(pruneSteps([SYSTEM, TASK, action('1')], lastSteps(-1))).toEqual([SYSTEM, TASK]);
});

test('equal steps are told apart', () => {
  expect(pruneSteps([action('1'), action('1'), action('1')], lastSteps(2))).toEqual([action('1'), action('1')]);
});

test('old observations are cut, and the last ones are whole', () => {
  const long = 'x'.repeat(200);
  expect(pruneSteps([TASK, action(long), action(long), action(long)], { strategy: 'old_observations', keep: 1, maxLength: 50 })).toEqual([
    TASK,
    action(`${'x'.repeat(50)}...`),
    action(`${'x'.repeat(50)}...`),
    action(long),
  ]);
});

test('three observations stay whole, and older ones keep 100 characters, by default', () => {
  const long = 'x'.repeat(101);
  expect(pruneSteps([action(long), action(long), action(long), action(long)], { strategy: 'old_observations' })).toEqual([
    action(`${'x'.repeat(100)}...`),
    action(long),
    action(long),
    action(long),
  ]);
});

test('an old observation of exactly the length stays whole, and no character is split', () => {
  const strategy: PruneStrategy = { strategy: 'old_observations', keep: 0, maxLength: 2 };
  expect(pruneSteps([action('😀😀'), action('😀😀😀'), action('')], strategy)).toEqual([action('😀😀'), action('😀😀...'), action('')]);
});

test('notes and errors are not cut', () => {
  const failed: ConversationStep = { type: 'action', reply: 'r', error: 'e'.repeat(200) };
  const strategy: PruneStrategy = { strategy: 'old_observations', keep: 0, maxLength: 2 };
  expect(pruneSteps([note('n'.repeat(200)), failed], strategy)).toEqual([note('n'.repeat(200)), failed]);
});

const STEPS = fc.array(fc.oneof(fc.constant(SYSTEM), fc.constant(TASK), fc.string().map(action), fc.string().map(note)));

test('without a strategy all is kept', () => {
  fc.assert(
    fc.property(STEPS, (steps) => {
      expect(pruneSteps(steps, { strategy: 'none' })).toEqual(steps);
    }),
  );
});

test('pruning twice is pruning once, and keeps all instructions and tasks', () => {
  fc.assert(
    fc.property(STEPS, fc.nat(6), (steps, keep) => {
      const once = pruneSteps(steps, lastSteps(keep));
      expect(pruneSteps(once, lastSteps(keep))).toEqual(once);
      const isKept = ({ type }: ConversationStep): boolean => type === 'system' || type === 'task';
      expect(once.filter(isKept)).toEqual(steps.filter(isKept));
      expect(once.filter((step) => !isKept(step))).toEqual(keep === 0 ? [] : steps.filter((step) => !isKept(step)).slice(-keep));
    }),
  );
});
