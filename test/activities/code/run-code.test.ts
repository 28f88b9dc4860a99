import { expect, test } from 'vitest';
import { z } from 'zod';
import type { RunSegmentOutput } from '../../../src/core/domain/activity-messages.ts';
import { QUERIES } from '../../../src/core/protocol.ts';
import { SecretVault } from '../../../activities/secret-vault.ts';
import { defineAgent, defineTool, quickjs } from '../../../src/index.ts';
import { CodeRun, found } from './code-run.ts';

const digest = expect.stringMatching(/^[\w-]{22}$/) as string;

test('a segment returns the calls that its code waits for, and the next continues with their results', async () => {
  const run = new CodeRun();
  const ended = await run.cell('let a 1\ncall orders {"id":41} | orders {"id":42}\nprint $\ncall orders {"id":43}\nfinal $');
  const [first, second] = run.outputs;
  expect(first).toEqual({
    type: 'calls',
    calls: [
      { name: 'orders', arguments: { id: 41 } },
      { name: 'orders', arguments: { id: 42 } },
    ],
    digest,
    durationMs: 1,
  });
  expect(second).toMatchObject({ type: 'calls', calls: [{ arguments: { id: 43 } }] });
  expect(ended).toEqual({
    type: 'ended',
    id: expect.any(String) as string,
    content: ['[{"id":41,"total":410},{"id":42,"total":420}]\nFinal answer: [{"id":43,"total":430}]'],
    final: { value: [{ id: 43, total: 430 }] },
    digest,
    durationMs: 1,
  });
  expect(run.executors.all).toHaveLength(1);
  expect(run.environment.asked.filter(([query]) => query === QUERIES.journal)).toEqual([]);
});

test.each([
  ['prints nothing', 'let a 1', ['(no output)'], undefined],
  ['fails', 'let a 1\nprint a\nthrow no order', ['1\nError (runtime): no order'], true],
  ['cannot be read', 'huh', ['Error (syntax): unknown word "huh"'], true],
])('a cell that %s is reported to the model as text, and is part of the namespace', async (_, code, content, isError) => {
  const ended = await new CodeRun().cell(code);
  expect(ended).toMatchObject({ content, digest, ...(isError ? { isError } : {}) });
  expect(ended).not.toHaveProperty('final');
});

test.each(['timeout', 'memory', 'killed', 'protocol'])('a cell that ends by %s is not part of the namespace', async (kind) => {
  const run = new CodeRun();
  await run.cell('let a 1');
  const ended = await run.cell(`let a 2\nend ${kind} it was over`);
  expect(ended).toMatchObject({
    content: [expect.stringMatching(`^Error \\(${kind}\\): it was over\\n\\nNothing that this code has defined`)],
    isError: true,
  });
  expect(ended).not.toHaveProperty('digest');
  expect(run.executors.alive()).toBe(0);
  expect(await run.cell('print a')).toMatchObject({ content: ['1'] });
});

test('a call whose arguments do not fit its tool has a problem, like a call of the model', async () => {
  const run = new CodeRun();
  await run.cell('call orders {"id":"x"} | pay {}', () => ({ error: 'refused' }));
  expect(run.outputs[0]).toMatchObject({
    problems: {
      'c1.1': expect.stringContaining("Invalid arguments for 'orders'") as string,
      'c1.2': expect.stringContaining('pay') as string,
    },
  });
});

test.each([
  ['too many calls', Array.from({ length: 501 }, () => 'orders {"id":1}').join(' | '), '501 calls at once'],
  ['calls that are too large', `orders {"id":"${'x'.repeat(1_200_000)}"}`, 'bytes of JSON'],
  ['arguments that are nested too deeply', `orders {"id":${'['.repeat(70)}${']'.repeat(70)}}`, 'nested deeper than 64 levels'],
])('a cell with %s is ended', async (_, calls, problem) => {
  const run = new CodeRun();
  const ended = await run.cell(`call ${calls}`);
  expect(ended.content[0]).toContain(problem);
  expect(ended).not.toHaveProperty('digest');
  expect(run.executors.alive()).toBe(0);
});

test('a result is cut to the budget of a tool result, and a final answer that is too large is refused', async () => {
  const run = new CodeRun();
  const large = await run.cell(`let a "${'x'.repeat(100_000)}"\nfinal a`);
  expect(large.content[0]).toContain('[Cut: ');
  expect(large.final).toEqual({ value: 'x'.repeat(100_000) });
  const larger = await run.cell(`let a "${'x'.repeat(500_000)}"\nfinal a`);
  expect(larger).toMatchObject({ isError: true, digest });
  expect(larger.content[0]).toContain('The final answer is too large');
  expect(larger).not.toHaveProperty('final');
});

test('secrets are redacted from the output, the answer and the error', async () => {
  const secrets = new SecretVault(() => Promise.resolve('s3cret-value'));
  await secrets.resolve('key');
  const run = new CodeRun({ secrets });
  expect(await run.cell('let a "my s3cret-value"\nprint a\nfinal a')).toMatchObject({
    content: ['"my [secret "key"]"\nFinal answer: "my [secret \\"key\\"]"'],
    final: { value: 'my [secret "key"]' },
  });
  expect(await run.cell('throw s3cret-value')).toMatchObject({ content: ['Error (runtime): [secret "key"]'] });
});

test('the scratchpad is set in the state of the run if it has changed', async () => {
  const run = new CodeRun();
  expect(await run.cell('let a 1')).not.toHaveProperty('state');
  expect(await run.cell('note {"k":1}')).toMatchObject({ state: { scratchpad: { values: { k: 1 } } } });
  run.begin('let a 2');
  const scratchpad = { failed: [], observations: [], values: { k: 1 } };
  const same = await run.segment(run.input({ state: { scratchpad } }));
  expect(same).not.toHaveProperty('state');
});

test('a predicate decides if a call of code needs approval, with deps and state of the input', async () => {
  const pay = defineTool({
    name: 'pay',
    description: 'Pays',
    parameters: z.object({ amount: z.number() }),
    approval: ({ amount }, { state }) => amount > Number(state['free']) && { reason: 'much' },
    execute: () => 'paid',
  });
  const agent = defineAgent({ name: 'desk', model: 'scripted/m', tools: [pay], code: { executor: quickjs(), tier: 'remote' } });
  const run = new CodeRun({ agent });
  run.begin('call pay {"amount":5} | pay {"amount":50}');
  const output = await run.segment(run.input({ state: { free: 10 } }));
  expect(output).toMatchObject({ type: 'calls', approvals: { 'c1.2': { digest, reason: 'much' } } });
  expect(Object.keys((output as RunSegmentOutput & { type: 'calls' }).approvals ?? {})).toEqual(['c1.2']);
  expect(run.environment.asked.map(([query]) => query)).toEqual([QUERIES.snapshot]);
});

test('code and results that are not in the input are requested from the run', async () => {
  const run = new CodeRun();
  run.begin('call orders {"id":1}\nprint $');
  const { code: _, ...input } = run.input();
  run.record(await run.segment(input), found);
  const { results: __, code: ___, ...next } = run.input();
  expect(await run.segment(next)).toMatchObject({ content: ['[{"id":1,"total":10}]'] });
});

test('the result of a cell is kept for the next model call', async () => {
  const run = new CodeRun();
  const added: unknown[] = [];
  run.environment.runtime.conversations.addResult = (...args) => void added.push(args.slice(1));
  const { id } = await run.cell('let a 1');
  expect(added).toEqual([
    [id, 'e1', { type: 'tool_result', toolCallId: 'c1', name: 'run_code', status: 'success', content: ['(no output)'] }],
  ]);
});

test('a local segment reports its location, and asks for the journal if this worker lacks the namespace', async () => {
  const run = new CodeRun({ isLocal: true });
  run.begin('let a 1');
  expect(await run.segment(run.input())).toEqual({ type: 'cold', at: [1, 0], segment: 0 });
  const output = await run.segment(run.input({ whole: run.whole() }));
  expect(output).toMatchObject({ type: 'ended', at: [1, 0], segment: 0 });
  run.record(output, found);
  expect(await run.cell('print a')).toMatchObject({ content: ['1'], at: [2, 0] });
  await run.environment.runtime.namespaces.close();
  run.begin('print a');
  expect(await run.segment(run.input())).toMatchObject({ type: 'cold' });
  expect(await run.segment(run.input({ whole: run.whole() }))).toMatchObject({ content: ['1'] });
  expect(run.environment.asked).toEqual([]);
});

test('a cancelled segment ends its executor', async () => {
  const run = new CodeRun();
  run.begin('hang');
  const running = run.segment(run.input());
  await expect.poll(() => run.executors.all[0]?.begun).toEqual(['hang']);
  run.environment.cancel();
  await expect(running).rejects.toThrow('CANCELLED');
  expect(run.executors.alive()).toBe(0);
  expect(run.environment.runtime.namespaces.size).toBe(0);
});
