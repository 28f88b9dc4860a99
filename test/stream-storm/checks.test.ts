import { expect, test } from 'vitest';
import { type Event, newEvent } from '../../src/core/domain/record.ts';
import { newStep } from '../../src/core/domain/tool-calls.ts';
import type { StreamItem } from '../../src/client/index.ts';
import { seeded } from '../crash/runs/random-kills.ts';
import { parseOptions } from './options.ts';
import { shuffled, type StormFigures, stormChecks } from './storm.ts';
import { type RecordedRun, readingProblems } from './reading-problems.ts';

function eventOf(id: string, content: Event['content'], more: Partial<Event> = {}): Event {
  return { ...newEvent({ id, now: 0 }, 'run', 'teller', content), ...more };
}

const said = (text: string): Event['content'] => [{ type: 'message', role: 'assistant', content: text }];
const call: Event['content'][number] = { type: 'tool_call', toolCallId: 'look-1', name: 'look', arguments: {} };
const result: Event['content'][number] = {
  type: 'tool_result',
  toolCallId: 'look-1',
  name: 'look',
  status: 'success',
  content: ['looked'],
};

const asked = eventOf('q', [{ type: 'message', role: 'user', content: 'Q' }]);
const answered = eventOf('a1', [...said('one two'), call], { usage: null });
const looked = eventOf('l', [result]);
const last = eventOf('a2', said('done'), { usage: null });
const ended = { runId: 'run', status: 'completed', output: 'done' };
const recorded: RecordedRun = { events: [asked, answered, looked, last], steps: [newStep(1), newStep(2)], result: ended };

let cursors = 0;
/** An item with its own cursor. */
function item(content: object): StreamItem {
  cursors += 1;
  return { ...content, cursor: `c${cursors}` } as StreamItem;
}

function delta(eventId: string, text: string): StreamItem {
  return item({ type: 'delta', step: 1, attempt: 1, eventId, delta: { type: 'text', text } });
}

const looking = item({
  type: 'delta',
  step: 1,
  attempt: 1,
  eventId: 'a1',
  callId: 'look-1',
  delta: { type: 'data', callId: 'look-1', name: 'part', data: 1 },
});
const [first, second, third, fourth] = recorded.events.map((event, offset) => item({ type: 'event', offset, event })) as [
  StreamItem,
  StreamItem,
  StreamItem,
  StreamItem,
];
const [one, two] = [delta('a1', 'one '), delta('a1', 'two')];
const steps = recorded.steps.map((step) => item({ type: 'step', step })) as [StreamItem, StreamItem];
const end = item({ type: 'end', result: ended });

const sound: StreamItem[] = [first, one, two, second, looking, third, steps[0], fourth, steps[1], end];

const without = (dropped: StreamItem): StreamItem[] => sound.filter((other) => other !== dropped);
const after = (place: StreamItem, added: StreamItem): StreamItem[] =>
  sound.flatMap((other) => (other === place ? [other, added] : [other]));
/** The same item again, as another one of the stream. */
const again = (repeated: StreamItem): StreamItem => item({ ...repeated });

test('a reading that has each item of the record once has no problems, nor does a reading without any delta', () => {
  expect(readingProblems(sound, recorded)).toEqual([]);
  expect(readingProblems([first, second, third, steps[0], fourth, steps[1], end], recorded)).toEqual([]);
});

test('discarded output, or output that lacks pieces, is not a problem', () => {
  const reset = item({ type: 'reset', step: 1, attempt: 2 });
  expect(readingProblems([first, delta('a0', 'half'), reset, ...sound.slice(1)], recorded)).toEqual([]);
  expect(readingProblems([first, one, item({ type: 'gap' }), delta('a1', 'o'), ...sound.slice(3)], recorded)).toEqual([]);
});

test('the end of a failed run discards the output of its last call', () => {
  const failed = { ...ended, status: 'error' };
  const items = [first, delta('a0', 'half'), item({ type: 'end', result: failed })];
  expect(readingProblems(items, { events: [asked], steps: [], result: failed })).toEqual([]);
});

test.each<[string, StreamItem[]]>([
  ['the events differ', without(third)],
  ['the events differ', after(third, again(third))],
  ['event 1 has offset 2', sound.map((other) => (other === second ? third : other === third ? second : other))],
  ['the events differ', sound.map((other) => (other === fourth ? item({ ...fourth, event: eventOf('a2', said('gone')) }) : other))],
  ['the steps differ', without(steps[0])],
  ['the steps differ', after(steps[1], again(steps[1]))],
  ['the result differ', sound.map((other) => (other === end ? item({ type: 'end', result: { ...ended, output: 'no' } }) : other))],
  ['it has 0 ends', without(end)],
  ['it has 2 ends', [...sound, again(end)]],
  ['items come after its end', [...without(end), end, item({ type: 'gap' })]],
  ['items have', after(first, { ...item({ type: 'gap' }), cursor: first.cursor })],
  ['is a delta beside its event', after(second, again(two))],
  ['is a delta beside its event', after(third, again(looking))],
  ['became the answer', after(two, again(two))],
  ['became the answer', without(one)],
  ['output stays until the end', after(third, delta('a0', 'half'))],
])('"%s" is a problem of a reading that has it (%#)', (problem, items) => {
  expect(readingProblems(items, recorded).join('\n')).toContain(problem);
});

const figures: StormFigures = {
  runs: 1,
  seed: 1,
  kills: { workers: 1, services: 1, redis: 1 },
  reconnects: 1,
  moves: 1,
  events: 1,
  deltas: 1,
  gaps: 0,
  resets: 1,
  seconds: 1,
};
const run = { runId: 'r', readings: [], moves: 1, problems: [] };

/** The names of the checks that do not hold. */
function failures(more: Partial<StormFigures>, problems: string[] = [], ends: string[] = []): string[] {
  const checks = stormChecks([{ ...run, problems }], { ...figures, ...more }, ends);
  return checks.filter((check) => check.problems.length > 0).map(({ name }) => name);
}

test('a storm that killed everything and whose readers all came back passes all checks', () => {
  expect(failures({})).toEqual([]);
  expect(stormChecks([run], figures, [])).toHaveLength(6);
});

test.each<[string, Parameters<typeof failures>]>([
  ['the readers of run "r" have got its record, each item once', [{}, ['missing']]],
  ['no process ends by itself', [{}, [], ['exit code 1']]],
  ['workers, services and Redis are killed', [{ kills: { workers: 1, services: 1, redis: 0 } }]],
  ['readers are cut off and come back', [{ reconnects: 0 }]],
  ['readers go on at the cursors of others', [{ moves: 0 }]],
  ['readers see answers as they are written, and what is taken back', [{ deltas: 0 }]],
  ['readers see answers as they are written, and what is taken back', [{ resets: 0 }]],
])('"%s" does not hold for a storm that violates it (%#)', (name, broken) => {
  expect(failures(...broken)).toEqual([name]);
});

test('the order of kills depends on the seed alone, and each round has every process once', () => {
  const victims = ['a', 'b', 'c', 'd', 'e'];
  expect(shuffled(victims, seeded(7))).toEqual(shuffled(victims, seeded(7)));
  expect(shuffled(victims, seeded(7)).toSorted()).toEqual(victims);
});

test('the options of the command are read, and a wrong number is refused', () => {
  expect(parseOptions([])).toEqual({ runs: 50, workers: 2, seed: 1, json: false });
  expect(parseOptions(['--runs', '12', '--seed', '7', '--json'])).toEqual({ runs: 12, workers: 2, seed: 7, json: true });
  expect(() => parseOptions(['--runs', '0'])).toThrow('--runs is "0"');
  expect(() => parseOptions(['--kill', '1'])).toThrow('--kill');
});
