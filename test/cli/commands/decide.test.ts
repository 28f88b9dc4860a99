import { userInfo } from 'node:os';
import { expect, test } from 'vitest';
import { approveCall, type DecidableRun, rejectCall, respondToCall } from '../../../src/cli/commands/decisions.ts';
import type { DecidedOn } from '../../../src/client/index.ts';
import type { ApprovalView, Decision } from '../../../src/core/domain/approvals.ts';
import { LonghaulError } from '../../../src/core/domain/errors.ts';
import type { DecisionReceipt } from '../../../src/core/protocol.ts';
import { commandIo } from '../command-io.ts';
import { runApprovals, AT, decision, waiting } from '../pending-approvals.ts';

/** A run with these pending calls, and the requests that it got. `status`: of the receipt. */
function fakeRun(pending: ApprovalView[], status: DecisionReceipt['status'] = 'decided'): { run: DecidableRun; sent: unknown[] } {
  const sent: unknown[] = [];
  const take = (type: Decision['type'], ...said: unknown[]): Promise<DecisionReceipt> => {
    sent.push([type, ...said]);
    const [about, told] = [said[0] as DecidedOn, said.at(-1) as Partial<Decision>];
    const callId = typeof about === 'string' ? about : about.callId;
    return Promise.resolve({ version: 1, status, decision: decision({ ...told, type, callId }) });
  };
  const run: DecidableRun = {
    runId: 'clerk-1',
    approvals: () => Promise.resolve(runApprovals(pending)),
    approve: (about, options) => take('approve', about, options),
    reject: (about, options) => take('reject', about, options),
    respond: (about, content, options) => take('respond', about, content, options),
  };
  return { run, sent };
}

const LISTED = { callId: 'c1', digest: 'digest of c1' };
const ID = expect.stringMatching(/^[0-9a-f-]{36}$/) as string;

test("without a call id, the only pending call may be a descendant's", async () => {
  const { run, sent } = fakeRun([waiting({ runId: 'clerk-1/u.Letter' })]);
  await approveCall(commandIo().io, run, { runId: 'clerk-1', by: 'ann' });
  expect(sent).toEqual([['approve', { ...LISTED, runId: 'clerk-1/u.Letter' }, { id: ID, by: 'ann' }]]);
});

test('without a call id, the only pending call is decided, by the digest of its listing', async () => {
  const { run, sent } = fakeRun([waiting()]);
  const { io, stdout } = commandIo();
  expect(await approveCall(io, run, { runId: 'clerk-1', by: 'ann' })).toBe(0);
  expect(sent).toEqual([['approve', LISTED, { id: ID, by: 'ann' }]]);
  expect(stdout()).toBe('Call "c1" of "refund" is approved by ann\n');
});

test('a named call is decided by its id: the client finds its digest', async () => {
  const { run, sent } = fakeRun([waiting(), waiting({ callId: 'c2' })]);
  const { io } = commandIo();
  await approveCall(io, run, { runId: 'clerk-1', callId: 'c2', by: 'ann', id: 'd7', arguments: { amount: 3 } });
  expect(sent).toEqual([['approve', 'c2', { id: 'd7', by: 'ann', arguments: { amount: 3 } }]]);
});

test.each([
  ['call_ab', 'call_abc'],
  ['call_x', 'call_x'],
  ['done', 'done'],
])('"%s" names the call "%s"', async (given, named) => {
  const { run, sent } = fakeRun(['call_abc', 'call_x', 'call_xy'].map((callId) => waiting({ callId })));
  await approveCall(commandIo().io, run, { runId: 'clerk-1', callId: given, by: 'ann' });
  expect(sent).toEqual([['approve', named, { id: ID, by: 'ann' }]]);
});

test('a beginning that several calls have names them, and decides none', async () => {
  const { run, sent } = fakeRun(['call_a', 'call_b', 'x'].map((callId) => waiting({ callId })));
  await expect(rejectCall(commandIo().io, run, { runId: 'clerk-1', callId: 'call' })).rejects.toThrow(
    'Several calls that wait begin with "call": "call_a", "call_b". Write more of the id',
  );
  expect(sent).toEqual([]);
});

test('the waiting descendant may be named by a prefix of its id', async () => {
  const { run, sent } = fakeRun([waiting({ runId: 'clerk-1/u.Letter' }), waiting({ runId: 'clerk-1/v.Letter', digest: 'other' })]);
  await approveCall(commandIo().io, run, { runId: 'clerk-1', callId: 'c', in: 'clerk-1/v', by: 'ann' });
  expect(sent).toEqual([['approve', { callId: 'c1', digest: 'other', runId: 'clerk-1/v.Letter' }, { id: ID, by: 'ann' }]]);
});

test('with --json, a call id is used unchanged', async () => {
  const { run, sent } = fakeRun([waiting({ callId: 'call_abc' })]);
  await approveCall(commandIo({ json: true }).io, run, { runId: 'clerk-1', callId: 'call', by: 'ann' });
  expect(sent).toEqual([['approve', 'call', { id: ID, by: 'ann' }]]);
});

test('without a call id, several pending calls are listed, and none is decided', async () => {
  const { run, sent } = fakeRun([waiting(), waiting({ callId: 'c2', toolName: 'mail' })]);
  await expect(approveCall(commandIo().io, run, { runId: 'clerk-1' })).rejects.toThrow(
    '2 calls of run "clerk-1" wait for a decision: name one of "c1" (refund), "c2" (mail)',
  );
  expect(sent).toEqual([]);
});

test('if no call waits, the error says so', async () => {
  const { run } = fakeRun([]);
  await expect(rejectCall(commandIo().io, run, { runId: 'clerk-1' })).rejects.toMatchObject({ code: 'unknown_call' });
});

test('the author of a decision is the user of the system by default', async () => {
  const { run, sent } = fakeRun([waiting()]);
  await rejectCall(commandIo().io, run, { runId: 'clerk-1', callId: 'c1', digest: 'seen' });
  expect(sent).toEqual([['reject', { callId: 'c1', digest: 'seen' }, { id: ID, by: userInfo().username }]]);
});

test('a rejection shows its reason, and a remembered decision the command that revokes it', async () => {
  const { run } = fakeRun([waiting()]);
  const { io, stdout, stderr } = commandIo();
  await rejectCall(io, run, { runId: 'clerk-1', by: 'ann', id: 'd 1', reason: 'too much', remember: 'tool', namespace: 'shop' });
  expect(stdout()).toBe('Call "c1" of "refund" is rejected by ann: too much\n');
  expect(stderr()).toBe("That holds for further calls. To end that: npx longhaul revoke clerk-1 'd 1' --namespace shop\n");
});

test('a response shows its content, and with --json the receipt is printed', async () => {
  const { run, sent } = fakeRun([waiting()]);
  const { io, json } = commandIo({ json: true });
  await respondToCall(io, run, { runId: 'clerk-1', by: 'ann', id: 'd1', content: { colour: 'green' } });
  expect(sent).toEqual([['respond', LISTED, { colour: 'green' }, { id: 'd1', by: 'ann' }]]);
  expect(json()).toEqual([{ runId: 'clerk-1', version: 1, status: 'decided', decision: decision({ type: 'respond' }) }]);
});

test('a decision that had been accepted before shows when', async () => {
  const { run } = fakeRun([waiting()], 'repeated');
  const { io, stdout } = commandIo();
  await approveCall(io, run, { runId: 'clerk-1', callId: 'c1', by: 'ann', id: 'd1' });
  expect(stdout()).toBe(`Call "c1" of "refund" was approved by ann at ${AT} already (decision "d1")\n`);
});

test('if no answer comes in time, the error gives the id to resend the decision with', async () => {
  const { run } = fakeRun([waiting()]);
  const slow: DecidableRun = {
    ...run,
    approve: () => Promise.reject(new LonghaulError('wait_timeout', 'Not in time. Send it again with the same id')),
  };
  const flags = { runId: 'clerk-1', callId: 'c1' };
  await expect(approveCall(commandIo().io, slow, flags)).rejects.toThrow(
    /^Not in time\. Send it again with the same id: --id [0-9a-f-]{36}$/,
  );
  await expect(approveCall(commandIo().io, slow, { ...flags, id: 'd1' })).rejects.toThrow(/the same id$/);
});
