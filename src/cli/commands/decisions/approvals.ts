import type { LonghaulClient } from '../../../client/longhaul-client.ts';
import type { RunHandle } from '../../../client/run-handle.ts';
import { sleep } from '../../../temporal/waiting.ts';
import type { ApprovalView } from '../../../core/domain/approvals.ts';
import { UsageError } from '../../../core/domain/errors.ts';
import { isTerminal } from '../../../core/domain/run.ts';
import { approvalLines, rememberedLines } from '../../render/approval-lines.ts';
import type { CommandIo, ServerFlags } from '../../program/command.ts';
import { withClient } from '../../with-client.ts';
import { withRun } from '../../with-run.ts';

/** The options of `longhaul approvals`. */
export interface ApprovalsFlags extends ServerFlags {
  runId?: string;
  agent?: string;
  tool?: string;
  limit?: number;
  follow?: boolean;
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
    ...(agent === undefined ? {} : { agent }),
    ...(tool === undefined ? {} : { tool }),
    ...(limit === undefined ? {} : { limit }),
    follow,
  };
  const printer = new ApprovalPrinter(io, flags);
  for await (const { runId, ...waiting } of client.approvals({ ...filter, signal: io.terminal.signal })) printer.print(runId, waiting);
  printer.end();
  return 0;
}

/** Prints the pending approvals of one run and its remembered decisions; with `--json` all of them as one value. */
export async function approvalsOfRun(io: CommandIo, run: QueriedRun, flags: ApprovalsFlags): Promise<number> {
  if (flags.follow) return followRun(io, run, flags);
  const { output } = io;
  const page = await run.approvals();
  const pending = page.pending.filter(isOf(flags)).slice(0, flags.limit);
  const remembered = page.remembered.filter(isOf(flags));
  if (output.json) {
    output.printJson({ ...page, pending, remembered });
    return 0;
  }
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

  end(): void {
    if (this.#printed === 0 && !this.#io.output.json) this.#io.output.note('Nothing waits for a decision.');
  }
}
