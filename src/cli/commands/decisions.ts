import type { DecidedOn, ListedApproval } from '../../client/approvals.ts';
import type { LonghaulClient } from '../../client/longhaul-client.ts';
import type { RunHandle } from '../../client/run-handle.ts';
import type { UnreadRun } from '../../client/unread-runs.ts';
import { type ApprovalView, decider, NO_DIGEST, RAISE_LIMITS, waitsText } from '../../core/domain/approvals.ts';
import { LonghaulError, UsageError } from '../../core/domain/errors.ts';
import { defined, type JsonValue } from '../../core/domain/json.ts';
import { isTerminal } from '../../core/domain/run.ts';
import { ANYWHERE, printableLine, shellCommand } from '../../core/domain/text.ts';
import type { DecisionReceipt } from '../../core/protocol.ts';
import { sleep } from '../../temporal/waiting.ts';
import { osUser, sendWithId, serverOptions, UnreadNote, withClient, withRun } from '../command.ts';
import type { CommandIo, FlagsOf, ServerFlags } from '../define-command.ts';
import { approvalLines, rememberedLines } from '../render/approvals.ts';
import { DECIDED } from '../render/event-lines.ts';
import type { ApprovalsFlags, APPROVE, DecisionFlags, REJECT, RESPOND, REVOKE } from '../run-commands.ts';

/** The part of a run handle that decisions need. */
export type DecidableRun = Pick<RunHandle<unknown>, 'runId' | 'approvals' | 'approve' | 'reject' | 'respond'>;

/** Approves a waiting call, with the model's arguments or with others. */
export async function approve(io: CommandIo, flags: FlagsOf<typeof APPROVE>): Promise<number> {
  return withRun(io, flags, async ({ client, runId }) => approveCall(io, client.handle<unknown>(runId), flags));
}

/** Rejects a waiting call. */
export async function reject(io: CommandIo, flags: FlagsOf<typeof REJECT>): Promise<number> {
  return withRun(io, flags, async ({ client, runId }) => rejectCall(io, client.handle<unknown>(runId), flags));
}

/** Answers a waiting call in place of the tool. */
export async function respond(io: CommandIo, flags: FlagsOf<typeof RESPOND>): Promise<number> {
  const content = responseOf(flags);
  return withRun(io, flags, async ({ client, runId }) => respondToCall(io, client.handle<unknown>(runId), { ...flags, content }));
}

/** Approves a call of the handle's run. */
export async function approveCall(io: CommandIo, run: DecidableRun, flags: FlagsOf<typeof APPROVE>): Promise<number> {
  const { arguments: edited, remember } = flags;
  const more = defined({ arguments: edited, remember });
  return decide(io, run, flags, (about, options) => run.approve(about, { ...options, ...more }));
}

/** Rejects a call of the handle's run. */
export async function rejectCall(io: CommandIo, run: DecidableRun, flags: FlagsOf<typeof REJECT>): Promise<number> {
  const { reason, remember } = flags;
  const more = defined({ reason, remember });
  return decide(io, run, flags, (about, options) => run.reject(about, { ...options, ...more }));
}

/** Answers a call of the handle's run. */
export async function respondToCall(io: CommandIo, run: DecidableRun, flags: DecisionFlags & { content: JsonValue }): Promise<number> {
  return decide(io, run, flags, (about, options) => run.respond(about, flags.content, options));
}

type SendDecision = (about: DecidedOn, options: { id: string; by?: string }) => Promise<DecisionReceipt>;

async function decide(io: CommandIo, run: DecidableRun, given: DecisionFlags, send: SendDecision): Promise<number> {
  const flags = io.output.json ? given : await withWholeIds(run, given);
  const about = await resolveDecidedCall(run, flags);
  const by = flags.by ?? osUser();
  const receipt = await sendWithId(flags.id, (id) => send(about, { id, ...defined({ by }) }));
  reportDecision(io, run.runId, receipt, flags);
  return 0;
}

async function resolveDecidedCall(run: DecidableRun, flags: DecisionFlags): Promise<DecidedOn> {
  const { callId, digest, in: owner } = flags;
  if (callId === undefined) return waitingCall(run, flags);
  if (owner === undefined) return digest === undefined ? callId : { callId, digest };
  const { pending } = await run.approvals();
  const waiting = pending.find((one) => one.callId === callId && ownerOf(run, one) === owner);
  // A repeated decision finds its call already decided: the run that it concerns knows the decision.
  return { callId, digest: digest ?? waiting?.digest ?? NO_DIGEST, runId: owner };
}

/**
 * Returns the flags with the whole ids of the call and of the waiting run: each may be given as a unique prefix. An unknown id is
 * left unchanged: its call may have been decided. Throws a UsageError that names the candidates.
 */
async function withWholeIds(run: DecidableRun, flags: DecisionFlags): Promise<DecisionFlags> {
  const { callId, in: owner } = flags;
  if (callId === undefined && owner === undefined) return flags;
  const { pending } = await run.approvals();
  const runId =
    owner === undefined
      ? undefined
      : onlyOne(
          'runs that wait',
          owner,
          pending.map((one) => ownerOf(run, one)),
        );
  const waiting = pending.filter((one) => runId === undefined || ownerOf(run, one) === runId).map((one) => one.callId);
  return {
    ...flags,
    ...defined({ in: runId }),
    ...(callId === undefined ? {} : { callId: onlyOne('calls that wait', callId, waiting) }),
  };
}

function onlyOne(what: string, given: string, ids: readonly string[]): string {
  if (ids.includes(given)) return given;
  const [only = given, ...others] = new Set(ids.filter((id) => id.startsWith(given)));
  if (others.length === 0) return only;
  const named = [only, ...others].map((id) => `"${id}"`).join(', ');
  throw new UsageError(printableLine(`Several ${what} begin with "${given}": ${named}. Write more of the id`));
}

/** Returns the run that waits. */
function ownerOf(run: DecidableRun, { runId }: { runId?: string }): string {
  return runId ?? run.runId;
}

/** Names the waiting run if it is a descendant. */
function placeOf(run: DecidableRun, waiting: { runId?: string }): string {
  const owner = ownerOf(run, waiting);
  return owner === run.runId ? '' : ` of run "${owner}"`;
}

/** Returns the only pending call of a run. Throws `unknown_call` if there is none, and a UsageError that lists them if there are several. */
async function waitingCall(run: DecidableRun, { digest, in: owner }: DecisionFlags): Promise<ListedApproval> {
  const pending = (await run.approvals()).pending.filter((one) => owner === undefined || ownerOf(run, one) === owner);
  const [only, ...others] = pending;
  if (only === undefined) throw new LonghaulError('unknown_call', `No call of run "${run.runId}" waits for a decision`);
  if (others.length > 0) {
    const calls = pending.map((one) => `"${one.callId}" (${waitsText([one.toolName])})${placeOf(run, one)}`).join(', ');
    throw new UsageError(`${pending.length} calls of run "${run.runId}" wait for a decision: name one of ${calls}`);
  }
  return { callId: only.callId, digest: digest ?? only.digest, ...defined({ runId: only.runId }) };
}

function reportDecision({ output }: CommandIo, runId: string, receipt: DecisionReceipt, flags: ServerFlags): void {
  if (output.json) return output.printJson({ runId, ...receipt });
  const { status, decision } = receipt;
  const { type, callId, toolName, reason, remember, id, at } = decision;
  const call = toolName === RAISE_LIMITS ? `The higher limit "${callId}"` : `Call "${callId}" of "${toolName}"`;
  const done = `${DECIDED[type]} by ${decider(decision)}`;
  const why = reason === undefined || reason === '' ? '' : `: ${reason}`;
  if (status === 'repeated') return output.print(printableLine(`${call} was ${done} at ${at} already (decision "${id}")${why}`));
  output.print(printableLine(`${call} is ${done}${why}`));
  if (remember === undefined) return;
  const hint = shellCommand('revoke', { operands: [runId, id], options: serverOptions(flags), program: output.program });
  output.note(`That holds for further calls. To end that: ${printableLine(hint)}`);
}

function responseOf({ runId, text, value }: FlagsOf<typeof RESPOND>): JsonValue {
  if (text !== undefined && value !== undefined) throw new UsageError('There are two answers: give --text or --value, not both');
  if (value !== undefined) return value;
  if (text !== undefined) return text;
  throw new UsageError(`There is no answer: write ${ANYWHERE} respond "${runId}" --text "…", or --value with JSON`);
}

/** Revokes a remembered decision. An unknown one is not an error. */
export async function revoke(io: CommandIo, flags: FlagsOf<typeof REVOKE>): Promise<number> {
  return withRun(io, flags, async ({ client, runId }) => revokeDecision(io, client.handle<unknown>(runId), flags));
}

/** Revokes a remembered decision of the handle's run. */
export async function revokeDecision(
  { output }: CommandIo,
  run: Pick<RunHandle<unknown>, 'runId' | 'revoke'>,
  { decisionId }: FlagsOf<typeof REVOKE>,
): Promise<number> {
  const receipt = await run.revoke(decisionId);
  return output.result(
    { runId: run.runId, decisionId, ...receipt },
    receipt.revoked
      ? `Decision "${decisionId}" holds for no further calls of run "${run.runId}"`
      : `No decision "${decisionId}" held for further calls of run "${run.runId}": there was nothing to revoke`,
  );
}

/** Milliseconds between two queries of a run that is followed. */
const POLL_MS = 1_000;

/** Prints the pending approvals of all runs, or of one; with `--follow` also later ones, until it is interrupted. */
export async function approvals(io: CommandIo, flags: ApprovalsFlags): Promise<number> {
  const { runId, agent } = flags;
  if (runId !== undefined && agent !== undefined) throw new UsageError('--agent chooses among runs: leave it out if you name a run');
  if (runId === undefined) return withClient(io, flags, async ({ client }) => approvalsOfAll(io, client, flags));
  return withRun(io, { ...flags, runId }, async (found) => approvalsOfRun(io, found.client.handle<unknown>(found.runId), flags));
}

/** Prints the pending approvals of all runs. */
export async function approvalsOfAll(io: CommandIo, client: Pick<LonghaulClient, 'approvals'>, flags: ApprovalsFlags): Promise<number> {
  const { agent, tool, limit, follow = false } = flags;
  const filter = {
    ...defined({ agent, tool, limit }),
    follow,
  };
  const printer = new ApprovalPrinter(io, flags);
  const unread = new UnreadNote(io);
  const onUnread = (run: UnreadRun): void => {
    unread.add(run);
    // A list that is followed has no end to say it at.
    if (follow) unread.end();
  };
  for await (const { runId, ...waiting } of client.approvals({ ...filter, signal: io.terminal.signal, onUnread }))
    printer.print(runId, waiting);
  printer.end(unread.isEmpty ? NOTHING_WAITS : 'No run that could be read waits for a decision.');
  return unread.end();
}

const NOTHING_WAITS = 'Nothing waits for a decision.';

/** Prints the pending approvals of one run and its remembered decisions; with `--json` all of them as one value. */
export async function approvalsOfRun(io: CommandIo, run: QueriedRun, flags: ApprovalsFlags): Promise<number> {
  if (flags.follow) return followRun(io, run, flags);
  const { output } = io;
  const page = await run.approvals();
  const pending = page.pending.filter(isOf(flags)).slice(0, flags.limit);
  const remembered = page.remembered.filter(isOf(flags));
  if (output.json) return output.result({ ...page, pending, remembered }, []);
  const printer = new ApprovalPrinter(io, flags);
  for (const waiting of pending) printer.print(run.runId, { about: page.about, ...waiting });
  printer.end();
  if (remembered.length > 0) output.print(`${pending.length > 0 ? '\n' : ''}${output.look('bold', 'Remembered decisions')}`);
  for (const decision of remembered) {
    for (const line of rememberedLines(decision, { output, runId: run.runId, flags })) output.print(line);
  }
  return 0;
}

type QueriedRun = Pick<RunHandle<unknown>, 'runId' | 'approvals'>;

/** Prints each pending approval once, until the run has ended. */
async function followRun(io: CommandIo, run: QueriedRun, flags: ApprovalsFlags): Promise<number> {
  const { limit = Infinity } = flags;
  const printer = new ApprovalPrinter(io, flags);
  const seen = new Set<string>();
  for (;;) {
    const { pending, status, about } = await run.approvals();
    for (const waiting of pending.filter(isOf(flags))) {
      if (seen.has(waiting.key)) continue;
      if (seen.size >= limit) return 0;
      seen.add(waiting.key);
      printer.print(run.runId, { about, ...waiting });
    }
    if (isTerminal(status) || seen.size >= limit) return 0;
    await sleep(POLL_MS, io.terminal.signal);
  }
}

function isOf({ tool }: ApprovalsFlags): (one: { toolName: string }) => boolean {
  return ({ toolName }) => tool === undefined || toolName === tool;
}

class ApprovalPrinter {
  readonly #io: CommandIo;
  readonly #flags: ServerFlags;
  #printed = 0;

  constructor(io: CommandIo, flags: ServerFlags) {
    this.#io = io;
    this.#flags = flags;
  }

  print(runId: string, waiting: ApprovalView): void {
    const { output } = this.#io;
    if (output.json) return output.printJson({ runId, ...waiting });
    if (this.#printed > 0) output.print('');
    for (const line of approvalLines(waiting, { output, runId, flags: this.#flags })) output.print(line);
    this.#printed += 1;
  }

  end(none = NOTHING_WAITS): void {
    if (this.#printed === 0 && !this.#io.output.json) this.#io.output.note(none);
  }
}
