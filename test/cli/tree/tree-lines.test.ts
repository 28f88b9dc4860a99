import { expect, test } from 'vitest';
import { treeLines } from '../../../src/cli/render/tree-lines.ts';
import type { RunTree } from '../../../src/client/index.ts';
import { noUsage } from '../../../src/core/domain/usage.ts';
import { commandIo } from '../command-io.ts';

const plain = commandIo().io.output;

/** A run that has used this many tokens. */
function run(runId: string, totalTokens: number, more: Partial<RunTree> = {}): RunTree {
  const usage = { ...noUsage(), totalTokens, llmCalls: 1 };
  return {
    runId,
    kind: 'agent',
    agentName: runId.split('/').at(-1) ?? '',
    status: 'completed',
    steps: 2,
    limits: { steps: 10, finalAttempt: false },
    usage,
    treeUsage: usage,
    waitingFor: [],
    children: [],
    ...more,
  };
}

test('a session shows its turns and steps: the limit of steps applies to each turn', () => {
  expect(treeLines(run('talk-1', 30, { status: 'idle', turns: 3, steps: 12 }), plain)).toEqual([
    'talk-1 idle · talk-1 · 3 turns · 12 steps · 30 tokens',
  ]);
});

test('a tree of runs shows status, steps, tokens, cost and what waits, and ids relative to the parent', () => {
  const waiting = run('p-1/all.Inner/one.Letter', 20, { status: 'pending_confirmation', waitingFor: ['refund'] });
  const inner = run('p-1/all.Inner', 0, { kind: 'program', status: 'pending_confirmation', steps: 0, children: [waiting] });
  const priced = { ...noUsage(), totalTokens: 5, costUsd: 0.25, estimated: { promptTokens: 1, completionTokens: 1, totalTokens: 2 } };
  const other = run('p-1/all.Sum', 5, { usage: priced });
  const root = run('p-1', 10, {
    kind: 'program',
    status: 'pending_confirmation',
    steps: 1,
    treeUsage: { ...noUsage(), totalTokens: 37, costUsd: 0.25 },
    children: [inner, other],
  });
  expect(treeLines(root, plain)).toEqual([
    'p-1 pending_confirmation · p-1 · 1 model call · 10 tokens · tree: 37 tokens, $0.25',
    '├─ all.Inner pending_confirmation · all.Inner · 0 model calls · 0 tokens',
    '│  └─ one.Letter pending_confirmation · one.Letter · 2/10 steps · 20 tokens waits for refund',
    '└─ all.Sum completed · all.Sum · 2/10 steps · 7 tokens, $0.25',
  ]);
});

test('a run without children is one line', () => {
  expect(treeLines(run('r-1', 1), plain)).toEqual(['r-1 completed · r-1 · 2/10 steps · 1 token']);
});
