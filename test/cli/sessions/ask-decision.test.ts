import { expect, test } from 'vitest';
import { askDecision, type AskedOn, type Reaction } from '../../../src/cli/chat/input.ts';
import { LonghaulError } from '../../../src/core/domain/errors.ts';
import { commandIo, type KeptIo } from '../command-io.ts';
import { waiting } from '../pending-approvals.ts';

interface Asking {
  on: AskedOn;
  kept: KeptIo;
  decided: unknown[];
  prompts: string[];
}

/** A person who reacts in this way, and a run that refuses the first decisions with these errors. */
function asking(reactions: (string | Reaction)[], refusals: Error[] = []): Asking {
  const kept = commandIo();
  const decided: unknown[] = [];
  const prompts: string[] = [];
  const decide = (type: string) => (about: { callId: string }, content?: unknown) => {
    const refusal = refusals.shift();
    if (refusal !== undefined) return Promise.reject(refusal);
    decided.push([type, about.callId, content]);
    return Promise.resolve({});
  };
  const lines = {
    ask: (prompt: string, options?: { fresh?: boolean }) => {
      prompts.push(prompt.trim());
      expect(options).toEqual({ fresh: true });
      const reaction = reactions.shift();
      if (reaction === undefined) throw new Error('it asks too often');
      return Promise.resolve<Reaction>(typeof reaction === 'string' ? { type: 'line', text: reaction } : reaction);
    },
  };
  const run = { runId: 'clerk-1', approve: decide('approve'), reject: decide('reject'), respond: decide('respond') };
  return { on: { io: kept.io, flags: {}, lines, run, signal: new AbortController().signal } as unknown as AskedOn, kept, decided, prompts };
}

test('a call is shown with its arguments and its reason, without commands to copy, and the question is repeated until the line is clear', async () => {
  const { on, kept, decided } = asking(['perhaps', 'n too\u001b[2J late']);
  expect(await askDecision(on, waiting({ reason: 'above\u001b[1A 3', arguments: { amount: 5, note: '\u202edlo' } }))).toBe('decided');
  expect(kept.stdout()).toContain('{"amount":5,"note":"\\u202edlo"}');
  expect(kept.stdout()).toContain('above\ufffd[1A 3');
  expect(kept.stdout()).not.toContain('longhaul');
  // The person knows which session that is, and that it waits now.
  expect(kept.stdout()).not.toContain('of run');
  expect(kept.stdout()).not.toContain('since');
  expect(kept.stderr()).toContain('Write y to run it');
  expect(decided).toMatchObject([['reject', 'c1', { reason: 'too\u001b[2J late' }]]);
});

test('edited arguments that the tool does not accept are reported, and the question is repeated', async () => {
  const invalid = new LonghaulError('invalid_arguments', 'amount: expected number');
  const { on, kept, decided, prompts } = asking(['e', 'five', 'e', '{"amount": "5"}', 'e', '{"amount": 4}'], [invalid]);
  expect(await askDecision(on, waiting())).toBe('decided');
  expect(prompts.map((prompt) => prompt.slice(0, 9))).toEqual([
    'Run it? (',
    'The argum',
    'Run it? (',
    'The argum',
    'Run it? (',
    'The argum',
  ]);
  expect(kept.stderr()).toContain('That is not a JSON object: the call still waits.');
  expect(kept.stderr()).toContain('amount: expected number');
  expect(decided).toMatchObject([['approve', 'c1', { arguments: { amount: 4 } }]]);
});

test('a call that another approver has decided meanwhile is reported, and is not an error', async () => {
  const { on, kept } = asking(['y'], [new LonghaulError('already_decided', 'Call "c1" was rejected by ann')]);
  expect(await askDecision(on, waiting())).toBe('decided');
  expect(kept.stderr()).toContain('was rejected by ann');
});

test('Ctrl-C, the end of the input and /exit decide nothing', async () => {
  for (const [reaction, expected] of [
    [{ type: 'interrupt' }, 'interrupt'],
    [{ type: 'end' }, 'end'],
    ['/exit', 'end'],
  ] as const) {
    const { on, decided } = asking([reaction]);
    expect(await askDecision(on, waiting())).toBe(expected);
    expect(decided).toEqual([]);
  }
});
