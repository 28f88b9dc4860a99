import { expect, test } from 'vitest';
import { planEviction } from '../../../../src/core/capabilities/compaction.ts';
import { points } from '../../../../src/core/kernel/points.ts';
import { activeSkills } from '../../../../src/core/capabilities/skills.ts';
import { emptyWindow, extendWindow } from '../../../../src/core/domain/window.ts';
import type { SkillSnapshot } from '../../../../src/core/domain/agent.ts';
import type { ContentItem } from '../../../../src/core/domain/content.ts';
import { skillTools } from '../../../../src/core/domain/skills.ts';
import type { ToolCallRecord } from '../../../../src/core/domain/tool-calls.ts';
import type { RunState } from '../../../../src/core/kernel/run-state.ts';
import { call } from '../fakes/fake-ports.ts';
import { testSnapshot, testTool } from '../fakes/snapshot.ts';

const skill = (name: string, more: Partial<SkillSnapshot> = {}): SkillSnapshot => ({
  name,
  description: `About ${name}`,
  digest: name,
  ...more,
});

function run(skills: SkillSnapshot[] | undefined, loadedSkills?: string[]): RunState {
  const snapshot = testSnapshot(skills === undefined ? {} : { skills });
  return { snapshot, slices: loadedSkills === undefined ? {} : { loadedSkills } } as RunState;
}

/** Records that a call of `load_skill` has returned the skill, or an error. */
function load(state: RunState, name: unknown, isError = false): void {
  const asked = call('c', 'load_skill', { skill: 'asked' });
  // The record has the arguments that the call ran with, which an approver or a hook may have changed.
  points.callRecorded(state, asked, { isError, arguments: { skill: name as string } } as unknown as ToolCallRecord);
}

test('a loaded skill is active, once, in the order of the agent', () => {
  const state = run([skill('a'), skill('b', { active: true }), skill('c')]);
  for (const name of ['c', 'c', 'a', 7]) load(state, name);
  load(state, 'gone', true);
  expect(state.slices).toEqual({ loadedSkills: ['c', 'a'] });
  expect(activeSkills(state).map(({ name }) => name)).toEqual(['a', 'b', 'c']);
});

test('a tool of the user that is named load_skill loads nothing', () => {
  const state = run(undefined);
  load(state, 'a');
  expect(state.slices).toEqual({});
});

test('each active skill narrows: a tool must be allowed by all of them', () => {
  const state = run(
    [skill('a', { allowedTools: ['x', 'y'] }), skill('b', { allowedTools: ['y'] }), skill('c', { allowedTools: [] })],
    ['a', 'b'],
  );
  expect(points.narrowsTool(state, testTool('y'))).toBeUndefined();
  expect(points.narrowsTool(state, testTool('x'))).toBe('the skill "b" is active, and allows only "y"');
  expect(points.narrowsTool(state, testTool('z'))).toBe('the skill "a" is active, and allows only "x", "y"');
  expect(points.narrowsTool({ ...state, slices: { loadedSkills: ['c'] } }, testTool('y'))).toBe(
    'the skill "c" is active, and allows no tools',
  );
});

test('the tools of skills, and the transfer to another agent, stay', () => {
  const state = run([skill('a', { allowedTools: [] })], ['a']);
  for (const tool of [...skillTools([skill('a')]), testTool('transfer_to_agent', { handoff: true })]) {
    expect(points.narrowsTool(state, tool)).toBeUndefined();
  }
});

test('an agent without such a skill is not narrowed by a skill that another agent of the run has loaded', () => {
  expect(points.narrowsTool(run([skill('b')], ['a']), testTool('x'))).toBeUndefined();
  expect(points.narrowsTool(run(undefined, ['a']), testTool('x'))).toBeUndefined();
});

test('an eviction takes the texts of skills last', () => {
  const state = run([skill('a')]);
  let window = emptyWindow();
  for (const [index, name] of ['load_skill', 't', 't'].entries()) {
    const result = {
      type: 'tool_result' as const,
      toolCallId: `c${index}`,
      name,
      status: 'success' as const,
      content: ['r'.repeat(1_000)],
    };
    window = extendWindow(window, { id: `e${index}`, author: 'a', content: [result] });
  }
  const goal = { keepResults: 0, keepFrom: Infinity, isLast: (item: ContentItem) => points.isEvictedLast(state, item) };
  expect(planEviction(window, { ...goal, bytes: window.bytes - 1_500 })).toEqual([
    [1, 0],
    [2, 0],
  ]);
  expect(planEviction(window, { ...goal, bytes: 0 })).toEqual([
    [1, 0],
    [2, 0],
    [0, 0],
  ]);
});

test('a summary names the loaded skills, whose texts may be gone', () => {
  expect(points.endOfSummary(run([skill('a'), skill('b'), skill('c', { active: true })], ['b']))).toBe(
    '\nLoaded skills, which still hold: b. Read one again with load_skill if its text is gone.',
  );
  expect(points.endOfSummary(run([skill('a')]))).toBe('');
});
