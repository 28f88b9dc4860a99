import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ContentItem } from '../../../src/core/domain/content.ts';
import type { Event } from '../../../src/core/domain/record.ts';
import { eventLines } from '../../../src/cli/render/event-lines.ts';
import { decision } from '../pending-approvals.ts';

/** The time this many seconds after the start of the run. */
function at(seconds: number): string {
  return new Date((1_700_000_000 + seconds) * 1_000).toISOString();
}

const START = at(0);

function event(author: string, content: ContentItem[], more: Partial<Event> = {}): Event {
  return { id: 'e', executionId: 'run', timestamp: at(1.234), author, content, ...more };
}

function lines(one: Event, options: { width?: number; maxLines?: number } = {}): string[] {
  return eventLines(one, { startedAt: START, ...options });
}

test('a question is one line: time, author, text', () => {
  const question = event('user', [{ type: 'message', role: 'user', content: 'How long to the Moon?' }], { timestamp: START });
  expect(lines(question)).toEqual(['  0.00s  user              How long to the Moon?']);
});

test('what guardrails have found is one line', () => {
  const finding = { name: 'polite', type: 'input', outcome: 'tripped', message: 'It contains "damn"' } as const;
  expect(lines(event('clerk', [], { guardrails: { findings: [finding], blocked: [0] } }))).toEqual([
    '  1.23s  clerk             guardrail "polite" blocked the request: It contains "damn"',
  ]);
  const warned = { name: 'short', type: 'tool_call', outcome: 'warned', message: 'long', callId: 'c1' } as const;
  expect(lines(event('clerk', [], { guardrails: { findings: [warned] } }))).toEqual([
    '  1.23s  clerk             guardrail "short" let pass the call c1: long',
  ]);
  expect(lines(event('clerk', [], { guardrails: { findings: [], spent: [] } }))).toEqual([
    '  1.23s  clerk             (guardrails asked a model, and found nothing)',
  ]);
});

test('a response shows the thought, each call with its arguments, and the tokens, under one name', () => {
  const response = event(
    'kipchoge',
    [
      { type: 'message', role: 'assistant', content: 'I need his pace.' },
      { type: 'tool_call', toolCallId: 'c1', name: 'search_web', arguments: { query: 'pace', limit: 3 } },
      { type: 'tool_call', toolCallId: 'c2', name: 'now', arguments: {} },
    ],
    { usage: { promptTokens: 100, completionTokens: 20, totalTokens: 120, cachedTokens: 64, reasoningTokens: 8 } },
  );
  expect(lines(response)).toEqual([
    '  1.23s  kipchoge          I need his pace.',
    '                           → search_web(query: "pace", limit: 3)',
    '                           → now()',
    '                           120 tokens (100 in, 64 of them cached; 20 out, 8 of them reasoning)',
  ]);
});

test('sources are shown with their titles', () => {
  const sources = [{ url: 'https://moon.test/', title: 'Moon' }, { filename: 'n.pdf' }];
  expect(lines(event('bot', [{ type: 'message', role: 'assistant', content: 'Far.' }], { sources })).slice(1)).toEqual([
    '                           source: Moon · https://moon.test/',
    '                           source: n.pdf',
  ]);
});

test('tokens that were written to a cache are shown if there are any', () => {
  const usage = { promptTokens: 100, completionTokens: 20, totalTokens: 120, cacheWriteTokens: 90 };
  const answer = event('kipchoge', [{ type: 'message', role: 'assistant', content: 'Yes.' }], { usage });
  expect(lines(answer)[1]?.trim()).toBe('120 tokens (100 in, 90 written to the cache; 20 out)');
});

test('results are shown under their tools, with a mark for errors', () => {
  const results = event('kipchoge', [
    { type: 'tool_result', toolCallId: 'c1', name: 'search_web', status: 'success', content: ['two', { blocks: true }] },
    { type: 'tool_result', toolCallId: 'c2', name: 'calculator', status: 'error', content: ['Division by zero'] },
    { type: 'tool_result', toolCallId: 'c3', name: 'calculator', status: 'success', content: [] },
  ]);
  expect(lines(results)).toEqual([
    '  1.23s  search_web        ← two',
    '                           {"blocks":true}',
    '         calculator        ← error: Division by zero',
    '                           ← (nothing)',
  ]);
});

test('changes of the deps are shown after the results that they came with', () => {
  const result: ContentItem = { type: 'tool_result', toolCallId: 'c1', name: 'add', status: 'success', content: ['ok'] };
  const contextUpdates: Event['contextUpdates'] = [
    {
      callId: 'c1',
      operations: [
        { op: 'append', key: 'cart', value: 'table' },
        { op: 'delete', key: 'draft' },
      ],
    },
  ];
  expect(lines(event('clerk', [result], { contextUpdates }))).toEqual([
    '  1.23s  add               ← ok',
    '         clerk             deps: append cart "table", delete draft',
  ]);
});

test('an interrupted response and one without usage are marked', () => {
  const cut = event('bot', [{ type: 'message', role: 'assistant', content: 'Well' }], { interrupted: true, usage: null });
  expect(
    lines(cut)
      .slice(1)
      .map((line) => line.trim()),
  ).toEqual(['(interrupted)', 'tokens unknown']);
  expect(lines(event('bot', []))).toEqual(['  1.23s  bot               (an empty answer)']);
});

test('a decision, a refusal and a raise are a line with their author', () => {
  const told = (author: string, more: Partial<Event>): string[] => lines(event(author, [], more), { width: 1000 });
  expect(told('ann', { decision: decision({ arguments: { amount: 3 }, remember: 'tool' }) })).toEqual([
    '  1.23s  ann               approved refund (call c1) with {"amount":3}; holds for every further call of the tool',
  ]);
  expect(told('the deadline', { decision: decision({ type: 'reject', reason: 'nobody decided', source: 'deadline' }) })).toEqual([
    '  1.23s  the deadline      rejected refund (call c1): nobody decided',
  ]);
  expect(told('ann', { decision: decision({ type: 'respond', content: 'green', source: 'remembered' }) })).toEqual([
    '  1.23s  ann               answered refund (call c1) with "green"; as remembered',
  ]);
  const limit = { toolName: 'raise_limits', callId: 'limit-7' };
  expect(told('ann', { decision: decision({ ...limit, arguments: { steps: 20 } }) })[0]).toContain('approved raised limits: steps 20');
  expect(told('ann', { decision: decision({ ...limit, type: 'reject', reason: 'enough' }) })[0]).toContain(
    'rejected raised limits: enough',
  );
  const refused = { request: 'approve', callId: 'c1', code: 'not_authorized', message: 'bob may not' };
  expect(told('bob', { refused })).toEqual(['  1.23s  bob               approve of call c1 was refused (not_authorized): bob may not']);
  const limits = { steps: 20, toolCallsByName: { refund: 2 }, totalTokens: 900, costUsd: 2, deadlineMs: 5_400_000 };
  expect(told('ann', { raised: { id: 'r1', limits, by: 'ann', at: '' } })).toEqual([
    '  1.23s  ann               raised limits: steps 20, tokens 900, calls of refund 2, cost $2.00, deadline 90m from the start',
  ]);
});

test('incomplete results are marked, and a failed call shows its code and cost', () => {
  const result: ContentItem = { type: 'tool_result', toolCallId: 'c1', name: 'search', status: 'success', content: ['found'] };
  expect(lines(event('bot', [result], { partial: true }))).toEqual([
    '  1.23s  search            ← found',
    '         bot               (other calls of the same answer wait for a decision)',
  ]);
  const estimated = { promptTokens: 100, completionTokens: 20, totalTokens: 120, costUsd: 0.0012 };
  const reported = { promptTokens: 10, completionTokens: 5, totalTokens: 15, costUsd: 0.5 };
  const failed = event('bot', [], { failed: { code: 'model_timeout' }, usage: null, estimated, failedAttempts: { reported, estimated } });
  expect(lines(failed)).toEqual([
    '  1.23s  bot               (the model call failed: model_timeout)',
    '                           about 120 tokens (100 in; 20 out), $0.0012, estimated',
    '                           15 tokens (10 in; 5 out), $0.50, about 120 tokens (100 in; 20 out), $0.0012, estimated in',
    '                           attempts that failed',
  ]);
});

test.each([
  [-5, '0.00s'],
  [99.99, '99.99s'],
  [99.999, '1m40s'],
  [125, '2m05s'],
  [3599.7, '1h00m'],
  [12_000, '3h20m'],
  [187_200, '2d04h'],
])('%d seconds after the start are shown as %s', (seconds, shown) => {
  const said = event('user', [{ type: 'message', role: 'user', content: 'x' }], { timestamp: at(seconds) });
  expect(lines(said)[0]?.slice(0, 7).trim()).toBe(shown);
});

test('long text is wrapped at blanks into the column, and the number of omitted characters is shown', () => {
  const long = event('user', [{ type: 'message', role: 'user', content: `${'word '.repeat(30)}\n\nend` }]);
  const printed = lines(long, { width: 67, maxLines: 2 });
  expect(printed).toEqual([
    `  1.23s  user              ${'word '.repeat(8).trim()}`,
    `                           ${'word '.repeat(8).trim()}`,
    '                           … 75 more characters',
  ]);
});

test('text of a model cannot move the cursor or imitate a line of another author', () => {
  const hostile = event('user\u001b[2J\nkipchoge', [{ type: 'message', role: 'user', content: 'a\u001b]0;title\u0007b\rc' }]);
  const [line, ...rest] = lines(hostile);
  expect(rest).toEqual([]);
  // oxlint-disable-next-line no-control-regex -- the test looks for control characters
  expect(line).not.toMatch(/[\u0000-\u001f\u007f]/);
});

test('no character of a short text is lost, and no line is wider than allowed, for any event', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 400 }), (text) => {
      const printed = lines(event('user', [{ type: 'message', role: 'user', content: text }]), { width: 80, maxLines: 500 });
      for (const line of printed) expect(Array.from(line).length).toBeLessThanOrEqual(80);
      const shown = printed.map((line) => line.slice(27)).join('');
      expect(shown.replace(/\s/g, '')).toBe(
        lines(event('user', [{ type: 'message', role: 'user', content: text }]), { width: 10_000, maxLines: 500 })
          .map((line) => line.slice(27))
          .join('')
          .replace(/\s/g, ''),
      );
    }),
  );
});

test('colors are applied by the look that the caller passes', () => {
  const response = event('bot', [{ type: 'tool_call', toolCallId: 'c', name: 'go', arguments: {} }]);
  const [line] = eventLines(response, { startedAt: START, look: (look, text) => `<${look}>${text}</>` });
  expect(line).toBe('<dim>  1.23s</>  <bold>bot             </>  <cyan>→ go()</>');
});

test('code is shown unchanged, and its calls under its name', () => {
  const cell = event('desk', [
    { type: 'tool_call', toolCallId: 'c1', name: 'run_code', arguments: { code: 'for (const id of [1, 2]) {\n  pay({ id });\n}\n' } },
  ]);
  expect(lines(cell)).toEqual([
    '  1.23s  desk              → run_code',
    '                           for (const id of [1, 2]) {',
    '                             pay({ id });',
    '                           }',
  ]);
  const made = event('desk', [{ type: 'tool_call', toolCallId: 'c1.1', name: 'pay', arguments: { id: 1 } }], { caller: 'code' });
  expect(lines(made)).toEqual(["  1.23s  desk's code       → pay(id: 1)"]);
});
