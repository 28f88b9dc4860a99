import type { RunHandle } from '../../../client/run-handle.ts';
import { errorCode, errorMessage } from '../../../core/domain/errors.ts';
import { printable, printableLine, shellCommand } from '../../../core/domain/text.ts';
import { EXIT_CODES, exitCodeOfResult, exitOfError } from '../../exit-codes.ts';
import type { Output } from '../../output.ts';
import type { ServerFlags } from '../../program/command.ts';
import { serverOptions } from '../../program/server-options.ts';

/** The end of a session: the exit code of the chat, and the reason. */
export interface SessionEnd {
  exitCode: number;
  /** `is closed`, `was cancelled: …`, `has ended with an error (invalid_input): …`. */
  text: string;
  /** The code of the error that ended it. */
  errorCode?: string;
}

/** The part of a run handle that is needed. */
type EndingRun = Pick<RunHandle, 'result'>;

/** Waits for the end of a session. Throws `run_not_found`, errors of the server, and the reason of the signal. */
export async function sessionEnd(run: EndingRun, signal?: AbortSignal): Promise<SessionEnd> {
  try {
    const result = await run.result(signal === undefined ? {} : { signal });
    const { status, error, errorCode: code, cancelReason } = result;
    const exitCode = exitCodeOfResult(result);
    if (status === 'completed') return { exitCode, text: 'is closed' };
    if (status === 'cancelled') return { exitCode, text: `was cancelled${cancelReason === undefined ? '' : `: ${cancelReason}`}` };
    return { exitCode, ...failed(code, error ?? status) };
  } catch (error) {
    const code = errorCode(error);
    if (code !== 'run_terminated' && code !== 'run_timed_out') throw error;
    return { exitCode: EXIT_CODES[exitOfError(error)].code, ...failed(code, errorMessage(error)) };
  }
}

function failed(code: string | undefined, why: string): Pick<SessionEnd, 'text' | 'errorCode'> {
  return {
    text: `has ended with an error${code === undefined ? '' : ` (${code})`}: ${why}`,
    ...(code === undefined ? {} : { errorCode: code }),
  };
}

/** Says how a session has ended and how another one begins. */
export function saySessionEnd(
  { text, errorCode: code }: SessionEnd,
  { agent, ...flags }: ServerFlags & { agent: string },
  output: Output,
): void {
  output.note(output.look(code === undefined ? 'bold' : 'red', printable(`The session ${text}`)));
  const queue = flags.taskQueue === undefined ? [] : ['--task-queue', flags.taskQueue];
  const another = shellCommand('chat', { operands: [agent], options: [...queue, ...serverOptions(flags)], program: output.program });
  output.note(`${NEXT[code ?? ''] ?? 'To begin another one'}: ${printableLine(another)}`);
}

/** The next thing to do by the code of the error. */
const NEXT: Readonly<Record<string, string>> = {
  invalid_input: 'Begin another one with options that fit, such as --deps',
  unknown_agent: 'Start a worker that has the agent, or correct its name, and begin another one',
};
