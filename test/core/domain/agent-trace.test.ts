import { expect, test } from 'vitest';
import type { Event } from '../../../src/core/domain/record.ts';
import type { StepResult } from '../../../src/core/domain/tool-calls.ts';
import { isoTime } from '../../../src/core/domain/time.ts';
import { agentTrace } from '../../../src/core/domain/agent-trace.ts';
import type { TraceSpan } from '../../../src/core/domain/trace.ts';

const HEADER = { agentName: 'clerk', model: 'openai/gpt-5', startTime: 100 };
const usage = { promptTokens: 5, completionTokens: 5, totalTokens: 10 };

function event(seconds: number, fields: Partial<Event>): Event {
  return { id: `e${seconds}`, executionId: 'r', timestamp: isoTime(seconds * 1_000), author: 'clerk', content: [], ...fields };
}

const asked = event(100, { author: 'user', content: [{ type: 'message', role: 'user', content: 'Refund order 7' }] });
const called = event(103, {
  usage,
  content: [
    { type: 'message', role: 'assistant', content: 'I look' },
    { type: 'tool_call', toolCallId: 'a', name: 'find', arguments: {} },
    { type: 'tool_call', toolCallId: 'b', name: 'refund', arguments: {} },
  ],
});
const decision = {
  id: 'd',
  type: 'approve' as const,
  callId: 'b',
  toolName: 'refund',
  digest: 'x',
  by: 'ann',
  source: 'update' as const,
  at: '',
};
const approved = event(110, { author: 'ann', decision });
const results = event(112, {
  author: 'tools',
  content: [
    { type: 'tool_result', toolCallId: 'a', name: 'find', status: 'success', content: ['7'] },
    { type: 'tool_result', toolCallId: 'b', name: 'refund', status: 'error', content: ['no'] },
  ],
});
const answered = event(115, { usage, content: [{ type: 'message', role: 'assistant', content: 'Done' }] });

const record = { arguments: {}, result: '', isError: false, timestamp: '' };
const steps: StepResult[] = [
  {
    step: 1,
    thought: null,
    usage,
    finishReason: 'tool_calls',
    toolCalls: [
      { ...record, toolName: 'find', callId: 'a', durationMs: 500 },
      { ...record, toolName: 'refund', callId: 'b', durationMs: 1_500, childRunId: 'r/child' },
    ],
  },
];

/** Shows spans as lines: name, beginning and end in seconds from the start, metadata of interest. */
function lines(spans: readonly TraceSpan[], depth = 0): string[] {
  return spans.flatMap(({ name, startTime, endTime, children }) => [
    `${'  '.repeat(depth)}${name} ${startTime - 100}-${endTime === undefined ? 'open' : endTime - 100}`,
    ...lines(children, depth + 1),
  ]);
}

test('a run is a span for each step, with its model call, its tool calls and its waits', () => {
  const trace = agentTrace(HEADER, { events: [asked, called, approved, results, answered], steps });
  expect(lines(trace.spans)).toEqual([
    'step:1 0-12',
    '  model 0-3',
    '  wait:refund 3-10',
    '  tool:find 3-3.5',
    '  tool:refund 10-11.5',
    'step:2 12-15',
    '  model 12-15',
  ]);
  expect(trace).toMatchObject({ programName: 'clerk', backendName: 'openai', startTime: 100, endTime: 115 });
  expect(trace.spans[0]?.children[0]?.events).toMatchObject([
    { event_type: 'model_call', step_name: '1' },
    {
      event_type: 'model_response',
      step_name: '1',
      duration_ms: 3_000,
      data: { content_length: 6, tool_calls: ['find', 'refund'], tokens: 10 },
    },
  ]);
  expect(trace.spans[0]?.children.map(({ metadata }) => metadata)).toMatchObject([
    {},
    { call_id: 'b', decision: 'approve', source: 'update' },
    { call_id: 'a', status: 'success' },
    { call_id: 'b', status: 'error', child: 'r/child' },
  ]);
  expect(trace.totalEvents).toBe(6);
});

test('a call without a result is open, and so is its step', () => {
  const { spans } = agentTrace(HEADER, { events: [asked, called], steps: [] });
  expect(lines(spans)).toEqual(['step:1 0-open', '  model 0-3', '  tool:find 3-open', '  tool:refund 3-open']);
});

test('a call of unknown duration ends with the event of its result', () => {
  const { spans } = agentTrace(HEADER, { events: [asked, called, results], steps: [] });
  expect(lines(spans)).toEqual(['step:1 0-12', '  model 0-3', '  tool:find 3-12', '  tool:refund 3-12']);
});

test('the conversation before the run has no spans, and a wait for a message is not a model call', () => {
  const given = event(1, { given: true, content: answered.content });
  const next = event(500, { author: 'user', content: asked.content });
  const last = event(502, { usage, content: answered.content });
  expect(
    lines(agentTrace(HEADER, { events: [given, asked, { ...answered, timestamp: isoTime(104_000) }, next, last], steps: [] }).spans),
  ).toEqual(['step:1 0-4', '  model 0-4', 'step:2 400-402', '  model 400-402']);
});

test.each<[string, Partial<Event>, string, object]>([
  ['a summary', { usage, compaction: {} }, 'compaction 0-9', { tokens: 10 }],
  ['an interrupted answer', { usage: null, interrupted: true }, 'model 0-9', { interrupted: true }],
  ['a failed call', { failed: { code: 'model_timeout' } }, 'model 0-9', { error: 'model_timeout' }],
  ['the title of a session', { usage, title: 'Refund' }, 'title 0-9', {}],
])('%s is next to the steps and does not count as a step', (_, fields, line, metadata) => {
  const { spans } = agentTrace(HEADER, {
    events: [asked, event(109, fields), event(111, { usage, content: answered.content })],
    steps: [],
  });
  expect(lines(spans)).toEqual([line, 'step:1 9-11', '  model 9-11']);
  expect(spans[0]?.metadata).toMatchObject(metadata);
});

test('a run that has recorded nothing has no spans', () => {
  expect(agentTrace({ ...HEADER, model: 'local' }, { events: [], steps: [] }).toJSON()).toEqual({
    program_name: 'clerk',
    backend_name: '',
    start_time: '1970-01-01T00:01:40.000Z',
    duration_ms: 0,
    total_events: 0,
    spans: [],
  });
});

test('the length of an answer is the length of its text, also with a file', () => {
  const content = [
    { type: 'text' as const, text: 'Here ' },
    { type: 'image' as const, data: 'aGVsbG8=', mediaType: 'image/png' },
    { type: 'text' as const, text: 'it is' },
  ];
  const shown = event(115, { usage, content: [{ type: 'message', role: 'assistant', content }] });
  const trace = agentTrace(HEADER, { events: [asked, shown], steps: [] });
  expect(JSON.stringify(trace.toJSON())).toContain('"content_length":10,');
});
