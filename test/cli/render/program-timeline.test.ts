import { expect, test } from 'vitest';
import { eventLines } from '../../../src/cli/render/event-lines.ts';
import { programLines, programTimelineOf } from '../../../src/cli/render/timeline-lines.ts';
import { unitsSoFar } from '../../../src/cli/render/run-view.ts';
import type { ContentItem } from '../../../src/core/domain/content.ts';
import type { StepNote } from '../../../src/core/domain/verdicts.ts';
import type { Event, RunRecord } from '../../../src/core/domain/record.ts';
import { commandIo } from '../command-io.ts';
import { decision } from '../pending-approvals.ts';

const plain = commandIo().io.output;
/** The time this many seconds after the start of the run. */
function after(seconds: number): string {
  return new Date((1_700_000_000 + seconds) * 1_000).toISOString();
}

const START = after(0);

/** A note whose `startedAt` is in seconds from the start. */
type Noted = Omit<Partial<StepNote>, 'startedAt'> & { startedAt?: number };

function note(at: string, kind: string, type: StepNote['type'], more: Noted = {}): Event {
  const { startedAt, ...rest } = more;
  const timestamp = after(startedAt === undefined ? 0 : startedAt + 0.5);
  const step: StepNote = { at, kind, type, ...rest, ...(startedAt === undefined ? {} : { startedAt: after(startedAt) }) };
  return { id: 'e', executionId: 'run', timestamp, author: at, content: [], step };
}

function ended(at: string, kind: string, more: Noted = {}): Event {
  return note(at, kind, 'end', { status: 'completed', startedAt: 1, ...more });
}

function answer(at: string, text: string, more: Noted = {}): Event {
  const content: ContentItem[] = [{ type: 'message', role: 'assistant', content: text }];
  const usage = { promptTokens: 10, completionTokens: 5, totalTokens: 15 };
  return { ...note(at, 'ask', 'attempt', { attempt: 1, ...more }), content, usage };
}

function records(...events: Event[]): RunRecord[] {
  return events.map((event, offset) => ({ type: 'event', offset, ...event }));
}

const breach = {
  verdict: { anchors: { passed: false, checked: [], breaches: [{ anchor: 'A', violations: ['no source'] }], warnings: [], excused: [] } },
  error: { code: 'anchor_breach', message: 'breach', context: {} },
} as const satisfies Partial<StepNote>;

test('a program is shown unit by unit, with steps, attempts, violations, decisions and durations', () => {
  const call: ContentItem = {
    type: 'tool_call',
    toolCallId: 'write.Letter.review#2',
    name: 'write.Letter.review',
    arguments: { output: 'B' },
  };
  const accepted: ContentItem = {
    type: 'tool_result',
    toolCallId: 'write.Letter.review#2',
    name: 'write.Letter.review',
    status: 'success',
    content: ['accepted'],
  };
  const told = programLines(
    programTimelineOf(
      records(
        { id: 'e', executionId: 'run', timestamp: START, author: 'user', content: [{ type: 'message', role: 'user', content: '{"n":1}' }] },
        note('write', 'unit', 'start'),
        note('write.Letter', 'ask', 'start'),
        answer('write.Letter', 'A', breach),
        answer('write.Letter', 'B', { attempt: 2 }),
        { ...note('write.Letter', 'ask', 'start', { attempt: 2 }), content: [call] },
        {
          id: 'e',
          executionId: 'run',
          timestamp: START,
          author: 'ann',
          content: [],
          decision: decision({ callId: 'write.Letter.review#2' }),
        },
        { ...note('write.Letter', 'ask', 'attempt', { attempt: 2 }), content: [accepted] },
        ended('write.Letter', 'ask'),
        ended('write', 'unit'),
        note('send', 'unit', 'start'),
        ended('send', 'unit', { status: 'skipped', reason: 'the condition on "Letter" does not hold' }),
      ),
    ),
    plain,
    { isOver: true },
  );
  expect(told.join('\n')).toBe(
    `
user · {"n":1}

Unit write · completed in 0.50s
  Letter · ask · 2 attempts · 30 tokens · completed in 0.50s
    A
    ✗ A: no source
    attempt 2
    B
    → write.Letter.review {"output":"B"}
    ✓ approved by ann
    ← accepted

Unit send · skipped: the condition on "Letter" does not hold`,
  );
});

test('a step that runs an agent or a program names its run', () => {
  const begun = note('u.Letter', 'agent', 'start', { attempt: 1, child: 'o1/u.Letter' });
  const items = programTimelineOf(records(note('u', 'unit', 'start'), note('u.Letter', 'agent', 'start'), begun));
  expect(programLines(items, plain, { isOver: false })).toContain('    → run o1/u.Letter');
  expect(eventLines(begun, { startedAt: START })[0]).toMatch(/→ run o1\/u\.Letter$/);
});

test('a step that has not ended is running, or unfinished if the run is over', () => {
  const items = programTimelineOf(records(note('sort', 'unit', 'start'), note('sort.Kind', 'ask', 'start')));
  expect(programLines(items, plain, { isOver: false })).toEqual(['', 'Unit sort · running', '  Kind · ask · running']);
  expect(programLines(items, plain, { isOver: true })).toEqual(['', 'Unit sort · not finished', '  Kind · ask · not finished']);
});

test('of many items, the notable ones are shown, and the rest is counted', () => {
  const items = Array.from({ length: 50 }, (_, index) => `fan.Sum[${index}]`);
  const events = items.flatMap((at, index) => [
    note(at, 'ask', 'start'),
    ...(index === 40 ? [answer(at, 'A', breach), answer(at, 'B', { attempt: 2 })] : [answer(at, 'fine')]),
    ended(at, 'ask'),
  ]);
  const told = programLines(programTimelineOf(records(note('fan', 'unit', 'start'), ...events)), plain, { isOver: false });
  expect(told.filter((line) => line.includes('Sum['))).toHaveLength(11);
  expect(told).toContain('    Sum[40] · ask · 2 attempts · 30 tokens · completed in 0.50s');
  expect(told.at(-1)).toBe('  and 39 more of Sum, completed');
});

test('the units so far have the form of the result', () => {
  const units = unitsSoFar(records(note('sort', 'unit', 'start'), note('sort.Kind', 'ask', 'start'), answer('sort.Kind', 'A', breach)));
  expect(units).toEqual([
    {
      name: 'sort',
      status: 'running',
      steps: [{ name: 'Kind', kind: 'ask', status: 'running', attempts: 1, violations: ['A: no source'] }],
    },
  ]);
});

test('events of a program show what begins, what failed and why, and what ended', () => {
  const told = (event: Event): string[] => eventLines(event, { startedAt: START }).map((line) => line.replace(/^.{27}/, ''));
  expect(told(note('sort', 'unit', 'start'))).toEqual(['(unit begins)']);
  expect(told(answer('sort.Kind', 'A', breach))).toEqual(['A', '✗ attempt 1: A: no source', '15 tokens (10 in; 5 out)']);
  const violations = [{ rule: 'type_mismatch', message: 'odd', expected: '', actual: '', severity: 'warning' } as const];
  expect(told(answer('sort.Kind', 'A', { verdict: { violations } }))).toContain('warning: odd');
  expect(told(ended('sort.Kind', 'ask'))).toEqual(['(ask completed in 0.50s)']);
  const error = { code: 'step_failed', message: 'no', context: {} } as const;
  expect(told(ended('sort', 'unit', { status: 'failed', error }))).toEqual(['(unit failed in 0.50s: no)']);
  expect(told(ended('sort', 'unit', { status: 'skipped', reason: 'it needs "a"' }))).toEqual(['(unit skipped: it needs "a")']);
});
