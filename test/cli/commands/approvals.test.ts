import { expect, test, vi } from 'vitest';
import { approvalsOfAll, approvalsOfRun } from '../../../src/cli/commands/decisions.ts';
import { serverOptions } from '../../../src/cli/command.ts';
import { type ApprovalView, decisionHints, waitsText } from '../../../src/core/domain/approvals.ts';
import { Interruption } from '../../../src/cli/terminal.ts';
import { commandIo } from '../command-io.ts';
import { runApprovals, AT, waiting } from '../pending-approvals.ts';

/** The identity and the purpose of the runs. */
const about = { agentName: 'clerk', tenant: 'acme', user: 'ada', tags: ['vip', 'eu'], title: 'A lamp', question: 'Refund order 42' };

function clientWith(...found: ({ runId: string } & ApprovalView)[]): Parameters<typeof approvalsOfAll>[1] {
  return {
    async *approvals() {
      yield* await Promise.resolve(found.map((one) => ({ about: { agentName: 'clerk' }, ...one })));
    },
  };
}

test('a pending approval is shown with its arguments, the identity and the purpose of its run, its reason, its deadline, and the commands that decide it', async () => {
  const { io, stdout } = commandIo();
  const deadline = { deadlineAt: new Date(Date.parse(AT) + 3_600_000).toISOString(), onDeadline: 'reject' as const };
  const found = [
    { runId: 'clerk-1', about, ...waiting({ reason: 'over the limit', ...deadline }) },
    { runId: 'clerk-2', about: { agentName: 'clerk' }, ...waiting({ callId: 'c9' }) },
  ];
  expect(await approvalsOfAll(io, clientWith(...found), {})).toBe(0);
  expect(stdout()).toBe(`refund · call c1 · step 2 of run clerk-1
  {"amount":5}
  agent  clerk
  for    ada of acme
  tags   vip, eu
  title  A lamp
  asked  Refund order 42
  why    over the limit
  since  2026-01-02T03:04:05Z
  until  2026-01-02T04:04:05Z, then rejected
  npx longhaul approve clerk-1 c1
  npx longhaul reject clerk-1 c1 --reason '…'

refund · call c9 · step 2 of run clerk-2
  {"amount":5}
  agent  clerk
  since  2026-01-02T03:04:05Z
  npx longhaul approve clerk-2 c9
  npx longhaul reject clerk-2 c9 --reason '…'
`);
});

test('a limit is shown as what it is: a run that wants to continue, with what becomes of it', async () => {
  const { io, stdout } = commandIo();
  const limit = waiting({
    kind: 'limit',
    callId: 'limit-7',
    toolName: 'raise_limits',
    reason: '4 of 4 steps are used',
    arguments: { steps: 8, costUsd: 2 },
  });
  await approvalsOfAll(io, clientWith({ runId: 'clerk-1', ...limit }), {});
  expect(stdout()).toBe(`wants to continue: a limit is reached · decision limit-7 · step 2 of run clerk-1
  approve: it continues with steps 8, cost $2.00; reject: it ends at the limit
  agent  clerk
  why    4 of 4 steps are used
  since  2026-01-02T03:04:05Z
  npx longhaul approve clerk-1 limit-7
  npx longhaul reject clerk-1 limit-7 --reason '…'
`);
  expect(waitsText(['refund', 'raise_limits'])).toBe('refund, a higher limit');
});

test('a run that could not be read is named next to the list', async () => {
  const { io, stdout, stderr } = commandIo();
  const client: Parameters<typeof approvalsOfAll>[1] = {
    async *approvals({ onUnread } = {}) {
      onUnread?.({ runId: 'clerk-9', code: 'server_unreachable', message: 'it no longer answers' });
      yield await Promise.resolve({ runId: 'clerk-1', about, ...waiting() });
    },
  };
  expect(await approvalsOfAll(io, client, {})).toBe(10);
  expect(stdout()).toContain('npx longhaul approve clerk-1 c1');
  expect(stderr()).toBe('The list is incomplete: run "clerk-9" could not be read (server_unreachable): it no longer answers\n');
});

/** A client none of whose waiting runs can be read. */
function clientWithout(...runIds: string[]): Parameters<typeof approvalsOfAll>[1] {
  return {
    // oxlint-disable-next-line require-yield -- there are no approvals
    async *approvals({ onUnread } = {}) {
      await Promise.resolve();
      for (const runId of runIds) onUnread?.({ runId, code: 'encryption_key_missing', message: 'it needs key "k1".' });
    },
  };
}

test('if no waiting run can be read, one line says so for all of them, and nobody is told that nothing waits', async () => {
  const { io, stderr } = commandIo();
  const client = clientWithout('clerk-1', 'clerk-2', 'clerk-3', 'clerk-4', 'clerk-5', 'clerk-6', 'clerk-7');
  expect(await approvalsOfAll(io, client, {})).toBe(10);
  expect(stderr()).toBe(
    'No run that could be read waits for a decision.\n' +
      'The list is incomplete: 7 runs could not be read (the first: encryption_key_missing): it needs key "k1". ' +
      'They are "clerk-1", "clerk-2", "clerk-3", "clerk-4", "clerk-5" and 2 more\n',
  );
});

test('a list that is followed names each run that cannot be read when it is found', async () => {
  const { io, stderr } = commandIo();
  await approvalsOfAll(io, clientWithout('clerk-1', 'clerk-2'), { follow: true });
  expect(stderr().match(/run "clerk-\d" could not be read/g)).toHaveLength(2);
});

test('texts of users and models cannot control the terminal, hide, or pass for a line of the program', async () => {
  const { io, stdout } = commandIo();
  const hostile = 'a\u001b[2Jb\nsince  never\u202ec\u200b';
  const all = { agentName: hostile, tenant: hostile, user: hostile, tags: [hostile], title: hostile, question: hostile };
  await approvalsOfAll(io, clientWith({ runId: 'clerk-1', about: all, ...waiting() }), {});
  // oxlint-disable-next-line no-control-regex -- the expression matches control characters
  expect(stdout()).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e\u200b]/);
  expect(stdout().match(/^ *since/gm)).toHaveLength(1);
});

test('the approvals of one run show its identity and purpose once, and descendants show their own', async () => {
  const below = waiting({ callId: 'c2', runId: 'clerk-1/u', about: { agentName: 'helper', question: 'Look it up' } });
  const { io, stdout } = commandIo();
  const run = { runId: 'clerk-1', approvals: () => Promise.resolve(runApprovals([waiting(), below])) };
  await approvalsOfRun(io, run, {});
  expect(stdout().match(/(?<=asked {2}).*/g)).toEqual(['Where is order 42?', 'Look it up']);
});

test('a call that waits in a descendant is decided in that run', async () => {
  const { io, stdout } = commandIo();
  const run = { runId: 'outer-1', approvals: () => Promise.resolve(runApprovals([waiting({ runId: 'outer-1/u.Letter' })])) };
  await approvalsOfRun(io, run, {});
  expect(stdout()).toContain('refund · call c1 · step 2 of run outer-1/u.Letter\n');
  expect(stdout()).toContain('  npx longhaul approve outer-1/u.Letter c1\n');
});

test('with --json, each approval is a line; if there are none, only the text form says so', async () => {
  const machine = commandIo({ json: true });
  await approvalsOfAll(machine.io, clientWith({ runId: 'clerk-1', about, ...waiting() }), {});
  expect(machine.json()).toEqual([{ runId: 'clerk-1', about, ...waiting() }]);
  const silent = commandIo({ json: true });
  await approvalsOfAll(silent.io, clientWith(), {});
  expect(silent.stdout() + silent.stderr()).toBe('');
  const person = commandIo();
  await approvalsOfAll(person.io, clientWith(), {});
  expect({ stdout: person.stdout(), stderr: person.stderr() }).toEqual({ stdout: '', stderr: 'Nothing waits for a decision.\n' });
});

test('the filter is passed on, with the signal of the terminal', async () => {
  let asked: unknown;
  const client: Parameters<typeof approvalsOfAll>[1] = {
    // oxlint-disable-next-line require-yield -- there are no approvals
    async *approvals(filter) {
      await Promise.resolve();
      asked = filter;
    },
  };
  const { io } = commandIo();
  await approvalsOfAll(io, client, { agent: 'clerk', tool: 'refund', limit: 5, follow: true });
  expect(asked).toMatchObject({ agent: 'clerk', tool: 'refund', limit: 5, follow: true, signal: io.terminal.signal });
});

test('the remembered decisions of a run are shown too', async () => {
  const remembered = [
    { id: 'd1', type: 'approve' as const, toolName: 'refund', by: 'ann', at: AT },
    { id: 'd2', type: 'reject' as const, toolName: 'mail', digest: 'xyz', by: null, verifiedBy: 'bob', at: AT, reason: 'spam' },
  ];
  const run = { runId: 'clerk-1', approvals: () => Promise.resolve(runApprovals([waiting()], { remembered })) };
  const { io, stdout } = commandIo();
  await approvalsOfRun(io, run, {});
  expect(stdout()).toContain(`

Remembered decisions
refund · every call · approved by ann at 2026-01-02T03:04:05Z
  npx longhaul revoke clerk-1 d1
mail · calls with arguments of digest xyz · rejected by bob at 2026-01-02T03:04:05Z: spam
  npx longhaul revoke clerk-1 d2
`);
  const machine = commandIo({ json: true });
  await approvalsOfRun(machine.io, run, { tool: 'mail' });
  expect(machine.json()).toEqual([runApprovals([], { remembered: remembered.slice(1) })]);
});

test('if a run is followed, each approval is printed once, until the run has ended', async () => {
  const pages = [
    runApprovals([waiting()]),
    runApprovals([waiting(), waiting({ callId: 'c2' })]),
    runApprovals([], { status: 'completed' }),
  ];
  const run = { runId: 'clerk-1', approvals: () => Promise.resolve(pages.shift() ?? runApprovals([])) };
  const { io, json } = commandIo({ json: true });
  vi.useFakeTimers();
  const following = approvalsOfRun(io, run, { follow: true });
  await vi.advanceTimersByTimeAsync(10_000);
  vi.useRealTimers();
  expect(await following).toBe(0);
  expect(json()).toMatchObject([{ callId: 'c1' }, { callId: 'c2' }]);
});

test('following ends with an interruption, as it does for events', async () => {
  const controller = new AbortController();
  const { io } = commandIo({ signal: controller.signal });
  const run = {
    runId: 'clerk-1',
    approvals: () => {
      controller.abort(new Interruption('SIGINT'));
      return Promise.resolve(runApprovals([waiting()]));
    },
  };
  await expect(approvalsOfRun(io, run, { follow: true })).rejects.toMatchObject({ by: 'SIGINT', exitCode: 130 });
});

test('the command for a question follows its schema, and a limit is approved like a call', () => {
  const hints = (fields: Partial<ApprovalView>): string[] => decisionHints('r', waiting(fields));
  expect(hints({ kind: 'question', answer: { type: 'string' } })).toEqual(["npx longhaul respond r c1 --text '…'"]);
  expect(hints({ kind: 'question', answer: { type: 'object', properties: { refund: {}, note: {} } } })).toEqual([
    `npx longhaul respond r c1 --value '{"refund":"…","note":"…"}'`,
  ]);
  expect(hints({ kind: 'question', answer: { type: 'number' } })).toEqual(["npx longhaul respond r c1 --value '…'"]);
  expect(hints({ kind: 'limit' })[0]).toBe('npx longhaul approve r c1');
  expect(hints({ kind: 'outcome' })[0]).toBe("npx longhaul respond r c1 --text '…'");
});

test('a command to copy names the same server, and text of a model in it cannot run in a shell', () => {
  const flags = { address: 'prod:7233', namespace: 'shop', json: true };
  expect(decisionHints('r', waiting(), { options: serverOptions(flags) })[0]).toBe(
    'npx longhaul approve r c1 --address prod:7233 --namespace shop',
  );
  expect(decisionHints('r', waiting({ callId: "c'; rm -rf $(x)" }))[0]).toBe("npx longhaul approve r 'c'\\''; rm -rf $(x)'");
  expect(decisionHints('r', waiting({ callId: '--help' }))[1]).toBe("npx longhaul reject --reason '…' -- r --help");
});

test('arguments are printed with escapes for characters that move the cursor or hide text, and a long list has lines', async () => {
  const { io, stdout } = commandIo();
  const long = { to: 'a'.repeat(60), text: 'b'.repeat(60) };
  const sly = { amount: 5, note: 'abc\u202ecba\u200b\u001b[2J' };
  await approvalsOfAll(io, clientWith({ runId: 'r', ...waiting({ arguments: sly }) }, { runId: 'r', ...waiting({ arguments: long }) }), {});
  expect(stdout()).toContain(String.raw`  {"amount":5,"note":"abc\u202ecba\u200b\u001b[2J"}`);
  expect(stdout()).toContain(`  {\n    "to": "${long.to}",\n    "text": "${long.text}"\n  }\n`);
  const cut = commandIo();
  await approvalsOfAll(cut.io, clientWith({ runId: 'r', ...waiting({ arguments: { text: '{"a":"' }, argumentsCut: true }) }), {});
  expect(cut.stdout()).toContain('  {"a":"…\n  This is the beginning: "npx longhaul events" has all of it\n');
});
