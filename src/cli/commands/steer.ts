import type { RunHandle } from '../../client/run-handle.ts';
import { defined } from '../../core/domain/json.ts';
import { UsageError } from '../../core/domain/errors.ts';
import type { LimitOptions } from '../../core/domain/limits.ts';
import { ANYWHERE, shellCommand } from '../../core/domain/text.ts';
import { osUser, sendWithId, serverOptions, withRun } from '../command.ts';
import type { CommandIo, FlagsOf } from '../define-command.ts';
import { limitOptions } from '../options.ts';
import { limitsText } from '../render/event-lines.ts';
import { textOrStdin } from '../terminal.ts';
import type { CANCEL, PAUSE, RaiseFlags, RETRY, SEND } from '../run-commands.ts';

/** Sends a message to a running run and prints the event and the step at which it is read. */
export async function send(io: CommandIo, flags: FlagsOf<typeof SEND>): Promise<number> {
  const text = await textOrStdin(flags.text, io.terminal);
  return withRun(io, flags, async ({ client, runId }) => sendText(io, client.handle<unknown>(runId), { ...flags, text }));
}

export async function sendText(
  { output }: CommandIo,
  run: Pick<RunHandle<unknown>, 'runId' | 'send'>,
  { text, mode, id: ownId }: FlagsOf<typeof SEND>,
): Promise<number> {
  const receipt = await sendWithId(ownId, (id) => run.send(text, { id, mode }));
  const { id, status, offset, beforeStep } = receipt;
  return output.result(
    { runId: run.runId, ...receipt },
    status === 'duplicate'
      ? `Message "${id}" had been accepted before: nothing changes`
      : `Message "${id}" is accepted: event ${offset ?? '?'} or later, read before step ${beforeStep ?? '?'}`,
  );
}

/** Pauses a run: it starts nothing new after its current step. */
export async function pause(io: CommandIo, flags: FlagsOf<typeof PAUSE>): Promise<number> {
  return withRun(io, flags, async ({ client, runId }) => {
    const { paused } = await client.handle(runId).pause();
    return io.output.result({ runId, paused }, `Run "${runId}" is paused: it begins nothing new after the current step`);
  });
}

export async function resume(io: CommandIo, flags: FlagsOf<typeof PAUSE>): Promise<number> {
  return withRun(io, flags, async ({ client, runId }) => {
    const { paused } = await client.handle(runId).resume();
    return io.output.result({ runId, paused }, `Run "${runId}" continues`);
  });
}

/** Requests the cancellation of a run. An ended run is not an error. */
export async function cancel(io: CommandIo, { reason, by = osUser(), ...flags }: FlagsOf<typeof CANCEL>): Promise<number> {
  const who = defined({ by });
  return withRun(io, flags, async ({ client, runId }) => {
    const outcome = await client.handle(runId).cancel(reason, who);
    const isRequested = outcome === 'requested';
    return io.output.result(
      { runId, outcome, ...(isRequested ? { reason, ...who } : {}) },
      isRequested
        ? `Cancellation of run "${runId}" is requested: ${reason}`
        : `Run "${runId}" had ended already: there was nothing to cancel`,
    );
  });
}

/** Continues a run that has ended from one of its steps. */
export async function retry(io: CommandIo, flags: FlagsOf<typeof RETRY>): Promise<number> {
  return withRun(io, flags, async ({ client, runId }) => retryOf(io, client.handle<unknown>(runId), flags));
}

/** Retries the handle's run. Prints the run id, and on stderr the command that waits for it. */
export async function retryOf(
  { output }: CommandIo,
  run: Pick<RunHandle<unknown>, 'runId' | 'retry'>,
  { fromStep, ...flags }: Omit<FlagsOf<typeof RETRY>, 'runId'>,
): Promise<number> {
  const receipt = await run.retry(defined({ fromStep }));
  output.result(receipt, run.runId);
  if (output.json) return 0;
  output.note(
    `It continues from step ${receipt.fromStep}. Wait for it: ${shellCommand('result', { operands: [run.runId], options: serverOptions(flags), program: output.program })}`,
  );
  if (receipt.dropped.length > 0) {
    output.note(`Requests after that step are no longer part of the run, and can be sent again: ${receipt.dropped.join(', ')}`);
  }
  return 0;
}

/** Raises limits of a run while it is running or waits, and prints the new limits. */
export async function raise(io: CommandIo, flags: RaiseFlags): Promise<number> {
  const limits = limitsOf(flags);
  return withRun(io, flags, async ({ client, runId }) => raiseLimits(io, client.handle<unknown>(runId), { ...flags, limits }));
}

/** Raises limits of the handle's run. */
export async function raiseLimits(
  { output }: CommandIo,
  run: Pick<RunHandle<unknown>, 'runId' | 'raise'>,
  { limits, by = osUser(), id: ownId }: Pick<RaiseFlags, 'by' | 'id'> & { limits: LimitOptions },
): Promise<number> {
  const receipt = await sendWithId(ownId, (id) => run.raise(limits, { id, ...defined({ by }) }));
  return output.result(
    { runId: run.runId, ...receipt },
    receipt.status === 'duplicate'
      ? `Limits had been raised by "${receipt.id}" before: nothing changes`
      : `Limits of run "${run.runId}" are now: ${limitsText(receipt.limits)}`,
  );
}

function limitsOf(flags: RaiseFlags): LimitOptions {
  const limits = limitOptions(flags);
  if (Object.keys(limits).length > 0) return limits;
  throw new UsageError(`There is no limit to raise: write ${ANYWHERE} raise "${flags.runId}" --steps 20, or another of its options`);
}
