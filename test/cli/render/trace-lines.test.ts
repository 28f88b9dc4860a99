import { expect, test } from 'vitest';
import { traceLines } from '../../../src/cli/render/tree-lines.ts';
import { ExecutionTrace, traceEvent } from '../../../src/core/domain/trace.ts';
import { commandIo } from '../command-io.ts';

const START = 1_700_000_000;
const plain = commandIo().io.output;

test('a trace is a tree: spans with their events and child spans, in the order of time', () => {
  const block = {
    name: 'forEach:Sums',
    startTime: START + 1,
    endTime: START + 2,
    metadata: {},
    events: [traceEvent('anchor_breach', { step: 'Sum[0]', at: START + 1.5 }, { anchor: 'A\u001b[2J' })],
    children: [],
  };
  const read = {
    name: 'unit:read',
    startTime: START,
    endTime: START + 2.5,
    metadata: {},
    events: [traceEvent('step_start', { step: 'Sums', at: START + 0.5 }), traceEvent('step_end', { step: 'Sums', at: START + 2.25 })],
    children: [block],
  };
  const write = { name: 'unit:write', startTime: START + 2.5, metadata: {}, events: [], children: [] };
  const trace = new ExecutionTrace({ programName: 'p', backendName: 'openai', startTime: START, endTime: START + 3, spans: [read, write] });
  expect(traceLines(trace, plain)).toEqual([
    'p · openai · 3.00s · 3 events',
    '├─ unit:read · 2.50s',
    '│  ├─ 0.50s Sums step_start',
    '│  ├─ forEach:Sums · 1.00s',
    '│  │  └─ 1.50s Sum[0] anchor_breach {"anchor":"A\\u001b[2J"}',
    '│  └─ 2.25s Sums step_end',
    '└─ unit:write · open',
  ]);
});

test('a run that has not begun anything has a trace of one line', () => {
  expect(traceLines(new ExecutionTrace({ programName: 'p', backendName: '', startTime: START, spans: [] }), plain)).toEqual([
    'p · 0.00s · 0 events',
  ]);
});
