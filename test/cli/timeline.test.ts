import { expect, test } from 'vitest';
import { type ReadableRun, runRecords } from '../../src/cli/render/run-view.ts';
import { timelineLines, timelineOf } from '../../src/cli/render/timeline-lines.ts';
import type { ExportLine } from '../../src/client/export-run.ts';
import type { ContentItem } from '../../src/core/domain/content.ts';
import { LonghaulError } from '../../src/core/domain/errors.ts';
import { type Event, recordsInOrder, type RunRecord } from '../../src/core/domain/record.ts';
import { newStep, newToolCallRecord, type StepResult, unknownOutcome } from '../../src/core/domain/tool-calls.ts';
import { commandIo } from './command-io.ts';
import { AT, decision } from './pending-approvals.ts';

const plain = commandIo().io.output;

function event(author: string, content: ContentItem[], more: Partial<Event> = {}): Event {
  return { id: 'e', executionId: 'clerk-1', timestamp: AT, author, content, ...more };
}

function said(text: string): Event {
  return event('user', [{ type: 'message', role: 'user', content: text }]);
}

const refund: ContentItem = { type: 'tool_call', toolCallId: 'c1', name: 'refund', arguments: { amount: 5 } };
const search: ContentItem = { type: 'tool_call', toolCallId: 'c2', name: 'search', arguments: {} };
const asks = event('clerk', [{ type: 'message', role: 'assistant', content: 'I pay.' }, refund, search], { usage: null });

function result(toolCallId: string, name: string, content: string): ContentItem {
  return { type: 'tool_result', toolCallId, name, status: 'success', content: [content] };
}

function told(records: Iterable<RunRecord>, more: { waiting?: Set<string>; full?: boolean } = {}): string {
  return timelineLines(timelineOf([...records]), plain, { ...more }).join('\n');
}

function inOrder(events: Event[], steps: StepResult[]): RunRecord[] {
  return [...recordsInOrder({ firstOffset: 0, events, firstStep: 0, steps })];
}

test('a step shows its calls, the author and the arguments of each approval, and the results', () => {
  const edited = {
    ...newToolCallRecord('refund', 'c1', AT),
    arguments: { amount: 3 },
    result: 'paid 3',
    durationMs: 12,
    toolVersion: '2',
    capability: 'payments',
  };
  const found = { ...newToolCallRecord('search', 'c2', AT), result: 'found' };
  const events = [
    said('Pay ann.'),
    asks,
    event('clerk', [result('c2', 'search', 'found')], { partial: true }),
    event('ann', [], { decision: decision({ arguments: { amount: 3 } }) }),
    event('clerk', [result('c1', 'refund', 'paid 3')]),
    event('clerk', [{ type: 'message', role: 'assistant', content: 'Paid.' }], { usage: null }),
  ];
  const steps = [
    { ...newStep(1), thought: 'I pay.', toolCalls: [edited, found], finishReason: 'tool_calls' },
    { ...newStep(2), thought: 'Paid.' },
  ];
  expect(told(inOrder(events, steps))).toBe(`
user · Pay ann.

Step 1 · tool_calls
  I pay.
  → refund@2 (payments) {"amount":5}
  ✓ approved by ann with {"amount":3}
  ← paid 3 (12 ms)
  → search {}
  ← found

Step 2 · stop
  Paid.`);
});

test('the current step shows which calls have a result, wait, or were decided', () => {
  const calls = event('clerk', [refund, search, { ...search, toolCallId: 'c3' }], { usage: null });
  const records = inOrder(
    [
      said('Pay.'),
      calls,
      event('ann', [], { decision: decision({ type: 'reject', callId: 'c3', toolName: 'search', reason: 'no\nneed' }) }),
      event('clerk', [result('c2', 'search', 'found')], { partial: true }),
    ],
    [],
  );
  expect(told(records, { waiting: new Set(['c1']) })).toBe(`
user · Pay.

Step 1 · not complete yet
  → refund {"amount":5}
  … waits for a decision
  → search {}
  ← found
  → search {}
  ✗ rejected by ann: no need
  … no result yet`);
});

test('messages and requests between steps are shown at their position, and so are answers that gave no step', () => {
  const limits = { steps: 20 };
  const records = inOrder(
    [
      event('clerk', [{ type: 'message', role: 'assistant', content: 'Well, I' }], { interrupted: true, usage: null }),
      said('Only this year,\nplease'),
      event('clerk', [], { failed: { code: 'model_timeout' }, usage: null }),
      event('bob', [], { refused: { request: 'approve', callId: 'c1', code: 'not_authorized', message: 'bob may not' } }),
      event('ann', [], { raised: { id: 'r1', limits, by: 'ann', at: AT } }),
      event('ann', [], { decision: decision({ toolName: 'raise_limits', callId: 'limit-7', arguments: limits }) }),
    ],
    [],
  );
  expect(told(records)).toBe(`
clerk · Well, I · (interrupted)
user · Only this year, please
clerk · (the model call failed: model_timeout)
bob · approve of call c1 was refused (not_authorized): bob may not
ann · raised limits: steps 20
ann · approved raised limits: steps 20`);
});

test('the end of a turn of a session is a line between its last step and the next message', () => {
  const answer = event('clerk', [{ type: 'message', role: 'assistant', content: 'Hi.' }], { usage: null });
  const end = event('clerk', [], { turn: { number: 1, status: 'completed', stopReason: 'final_answer' } });
  const failed = event('clerk', [], { turn: { number: 2, status: 'error', stopReason: 'error', error: 'no\nkey' } });
  const records = inOrder([said('Hello'), answer, end, said('And?'), failed], [{ ...newStep(1), thought: 'Hi.' }]);
  expect(told(records)).toBe(`
user · Hello

Step 1 · stop
  Hi.

clerk · turn 1 ended: completed
user · And?
clerk · turn 2 ended: error: no key`);
});

test('the beginning of a run is shown before its first step', () => {
  const given = { given: true } as const;
  const records = inOrder(
    [
      event('user', [{ type: 'message', role: 'user', content: 'Hi' }], given),
      event('clerk', [{ type: 'message', role: 'assistant', content: 'I look.' }, search], given),
      event('clerk', [result('c2', 'search', 'found')], given),
      event('clerk', [{ type: 'message', role: 'assistant', content: 'There.' }], given),
      said('And?'),
      event('clerk', [{ type: 'message', role: 'assistant', content: 'Here.' }], { usage: null }),
    ],
    [{ ...newStep(1), thought: 'Here.' }],
  );
  expect(told(records)).toBe(`
user · Hi
clerk · I look. → search {}
clerk · ← found
clerk · There.
user · And?

Step 1 · stop
  Here.`);
});

function readable(fields: Partial<ReadableRun>): ReadableRun {
  const unread = (): never => expect.fail('it was read');
  return { events: unread, steps: unread, export: unread, ...fields };
}

async function* listed<Value>(...values: readonly Value[]): AsyncGenerator<Value> {
  yield* await Promise.resolve(values);
}

const step: RunRecord = { type: 'step', index: 4, ...newStep(5) };

test('an open run is queried; if the server has removed its beginning, the rest of the history is read', async () => {
  const answer = event('clerk', [{ type: 'message', role: 'assistant', content: 'Hi.' }], { usage: null });
  const asked = readable({ events: () => listed(answer), steps: () => Promise.resolve([newStep(1)]) });
  expect(await runRecords(asked, { live: true })).toMatchObject([
    { type: 'event', offset: 0 },
    { type: 'step', index: 0 },
  ]);
  const removed = readable({
    // oxlint-disable-next-line require-yield -- there are no events
    async *events() {
      await Promise.reject(new LonghaulError('history_removed', 'gone'));
    },
    export: () => listed<ExportLine>(step, { type: 'failure', code: 'x', message: 'y' }),
  });
  expect(await runRecords(removed, { live: true })).toEqual([step]);
});

test('the history of a run that has ended is read, without a worker', async () => {
  expect(await runRecords(readable({ export: () => listed(step) }), { live: false })).toEqual([step]);
});

const cell: ContentItem = {
  type: 'tool_call',
  toolCallId: 'c1',
  name: 'run_code',
  arguments: { code: 'for (const id of [1, 2])\n  pay({ id });' },
};
const pays = (id: number): ContentItem => ({ type: 'tool_call', toolCallId: `c1.${id}`, name: 'pay', arguments: { id } });

test('code is shown unchanged, with its calls below it, in a complete step', () => {
  const ran = { ...newToolCallRecord('run_code', 'c1', AT), arguments: { code: 'pay({ id: 1 });' }, result: 'done', durationMs: 3 };
  const paid = { ...newToolCallRecord('pay', 'c1.1', AT), arguments: { id: 1 }, result: 'paid', durationMs: 12, caller: 'code' as const };
  const events = [
    said('Pay.'),
    event('clerk', [cell], { usage: null }),
    event('clerk', [pays(1)], { caller: 'code' }),
    event('clerk', [result('c1.1', 'pay', 'paid')], { caller: 'code' }),
    event('clerk', [result('c1', 'run_code', 'done')]),
  ];
  expect(told(inOrder(events, [{ ...newStep(1), toolCalls: [ran, paid], finishReason: 'tool_calls' }]))).toBe(
    [
      '',
      'user · Pay.',
      '',
      'Step 1 · tool_calls',
      '  → run_code',
      '      for (const id of [1, 2])',
      '        pay({ id });',
      '  ← done (3 ms)',
      '      → pay {"id":1}',
      '      ← paid (12 ms)',
    ].join('\n'),
  );
});

test('calls of code that have a result or wait are shown while the code runs', () => {
  const events = [
    event('clerk', [cell], { usage: null }),
    event('clerk', [pays(1)], { caller: 'code' }),
    event('clerk', [result('c1.1', 'pay', 'paid')], { caller: 'code' }),
    event('clerk', [pays(2)], { caller: 'code' }),
  ];
  expect(
    told(inOrder(events, []), { waiting: new Set(['c1.2']) })
      .split('\n')
      .slice(5),
  ).toEqual(['  … no result yet', '      → pay {"id":1}', '      ← paid', '      → pay {"id":2}', '      … waits for a decision']);
});

test('notices about the tools are between the steps, one line each', () => {
  const notices = ['tool "a" is left out', 'tool "b" takes any arguments'].map((message) => ({ code: 'tool_adapted' as const, message }));
  const events = [said('Pay ann.'), event('clerk', [], { notices }), event('clerk', [], { refresh: { digest: 'abc' }, notices })];
  expect(told(inOrder(events, []))).toBe(`
user · Pay ann.
clerk · note: tool "a" is left out
clerk · note: tool "b" takes any arguments
clerk · the agent is resolved again: digest abc
clerk · note: tool "a" is left out
clerk · note: tool "b" takes any arguments`);
});

/** A step with one call of this result. */
function stepWith(text: string, isError = false): RunRecord[] {
  const call = { ...newToolCallRecord('search', 'c2', AT), result: text, isError };
  return inOrder([asks], [{ ...newStep(1), toolCalls: [call], finishReason: 'tool_calls' }]);
}

/** The lines of the timeline from the result on. */
function resultOf(records: RunRecord[], full = false): string[] {
  const lines = told(records, { full }).split('\n');
  return lines.slice(lines.findIndex((line) => line.startsWith('  ←')));
}

const many = Array.from({ length: 40 }, (_, index) => `line ${index + 1}`).join('\n');

test.each([
  ['one line', 'found', false, ['  ← found']],
  ['no text', '', false, ['  ←']],
  ['a line break at its end', 'found\n', false, ['  ← found']],
  ['several lines, with their indentation', 'a\n  b\n\nc', false, ['  ←', '  │ a', '  │   b', '  │', '  │ c']],
  ['several lines of an error', 'a\nb', true, ['  ← error:', '  │ a', '  │ b']],
  ['lines of another system', 'a\r\nb', false, ['  ←', '  │ a', '  │ b']],
  ['a line that looks like one of the program', 'a\n  ✓ approved by ann', false, ['  ←', '  │ a', '  │   ✓ approved by ann']],
])('a result with %s keeps its lines', (_, text, isError, lines) => {
  expect(resultOf(stepWith(text, isError))).toEqual(lines);
});

test('a result of many lines is cut, with a note of how much is left out; with --full it is whole', () => {
  const lines = resultOf(stepWith(many));
  expect(lines).toHaveLength(1 + 12 + 1);
  expect(lines.at(-1)).toBe(`  │ … ${many.length - many.indexOf('\nline 13')} more characters: "show --full" prints all`);
  expect(resultOf(stepWith(many), true)).toEqual(['  ←', ...many.split('\n').map((line) => `  │ ${line}`)]);
});

test('a long line is cut, with a note of how much is left out; with --full it is whole', () => {
  const text = 'é'.repeat(2_000);
  const [line = '', note] = resultOf(stepWith(text));
  const kept = line.match(/é/g)?.length ?? 0;
  expect(kept).toBeGreaterThan(300);
  expect(line.endsWith('é…')).toBe(true);
  expect(note).toBe(`  │ … ${2_000 - kept} more characters: "show --full" prints all`);
  expect(resultOf(stepWith(text), true)).toEqual([`  ← ${text}`]);
});

test('with --full, messages and arguments are whole', () => {
  const text = 'word '.repeat(200).trim();
  const call: ContentItem = { type: 'tool_call', toolCallId: 'c1', name: 'refund', arguments: { note: text } };
  const records = inOrder([said(text), event('clerk', [call], { usage: null })], []);
  expect(told(records)).not.toContain(text);
  expect(told(records, { full: true }).split(text)).toHaveLength(3);
});

test('a step of an agent with several models shows which model answered, and why the ones before it did not', () => {
  const tried = [
    { model: 'p/a', code: 'model_rate_limited' },
    { model: 'p/b', code: 'model_unreachable' },
  ];
  const skipped = [
    { model: 'p/c', reason: 'cooling_down' as const },
    { model: 'p/d', reason: 'too_small' as const },
  ];
  const lineOf = (more: Partial<StepResult>): string => {
    const answer = event('clerk', [{ type: 'message', role: 'assistant', content: 'Paid.' }], { usage: null });
    return told(inOrder([answer], [{ ...newStep(1), thought: 'Paid.', ...more }])).split('\n')[2] ?? '';
  };
  expect(lineOf({ answeredBy: 'p/e', tried, skipped })).toBe(
    '  answered by p/e: p/a failed (model_rate_limited), p/b failed (model_unreachable), p/c had failed a moment before, p/d is too small',
  );
  expect(lineOf({ answeredBy: 'p/b' })).toBe('  answered by p/b: as before in this turn');
  expect(lineOf({ tried })).toBe('  answered by the first model: p/a failed (model_rate_limited), p/b failed (model_unreachable)');
  expect(lineOf({})).toBe('  Paid.');
  const asked = event('clerk', [refund], { usage: null, answeredBy: 'p/b' });
  expect(told(inOrder([asked], [])).split('\n')[2]).toBe('  answered by p/b');
});

test('a call whose outcome is unknown is marked: its result is no ordinary error', () => {
  const lost = {
    ...newToolCallRecord('refund', 'c1', AT),
    arguments: { amount: 5 },
    result: unknownOutcome('refund', 'its worker was lost'),
    isError: true,
  };
  const failed = { ...newToolCallRecord('search', 'c2', AT), result: 'no connection', isError: true };
  const lines = told(inOrder([asks], [{ ...newStep(1), toolCalls: [lost, failed] }])).split('\n');
  const marks = lines.filter((line) => line.includes('? outcome unknown'));
  expect(marks.map((line) => line.trim())).toEqual(['? outcome unknown: it may have taken effect. Find out what it has done']);
});
