import type { RunHandle } from '../client/run-handle.ts';
import type { ContentPart, MessageMode } from '../core/domain/content.ts';
import { type LimitOptions, plainLimits } from '../core/domain/limits.ts';
import type { RaiseInput, SendInput, UPDATES } from '../core/protocol.ts';

/**
 * The time at which a test acts on a run: while the model is called for that step (1-based); with `tool`, while the
 * first call of the tool in that step runs; with `waiting`, while such a call waits for a decision and nothing else
 * is running.
 */
export interface Moment {
  /** The step in which it happens, from 1. */
  step: number;
  /** The tool whose call is running. */
  tool?: string;
  /** While a call waits for a person. */
  waiting?: string;
}

/** A run in memory, by the rules of the handlers of its workflow. */
export interface RunInMemory {
  /** Sends an Update. Throws the error of a client if the run refuses it. */
  update(name: keyof typeof UPDATES, input: object): void;
  /** Cancels the run, as a client does. */
  cancel(reason: string): void;
}

/**
 * One planned action on a running run, created by the functions below. A test fails if a planned action does not
 * happen.
 */
export interface Occurrence {
  /** When it happens. */
  readonly at: Moment;
  /** The function that plans it, and its argument besides the moment. */
  readonly written: readonly [name: string, argument: unknown];
  /** The first word of its id. Absent: it has none. */
  readonly idWord?: string;
  /** The run gives up its model call for it, or everything that it waits for. */
  readonly givesUp?: 'model call' | 'all';
  /** Sends it to a run on a server, like any other client. */
  readonly onServer: (run: RunHandle<unknown>, id: string) => Promise<unknown>;
  /** Sends it to a run of `testAgent`. */
  readonly inMemory: (run: RunInMemory, id: string) => void;
}

/** Sends a message to the run: `queue` (default), `steer` or `interrupt`. */
export function sendMessage(content: string | ContentPart[], { mode = 'queue', ...at }: Moment & { mode?: MessageMode }): Occurrence {
  return {
    at,
    written: ['sendMessage', content],
    idWord: 'message',
    ...(mode === 'interrupt' ? { givesUp: 'model call' as const } : {}),
    onServer: (run, id) => run.send(content, { id, mode }),
    inMemory: (run, id) => run.update('send', { id, content, mode } satisfies SendInput),
  };
}

/** Cancels the run. */
export function cancelRun(reason: string, at: Moment): Occurrence {
  return {
    at,
    written: ['cancelRun', reason],
    givesUp: 'all',
    onServer: (run) => run.cancel(reason),
    inMemory: (run) => run.cancel(reason),
  };
}

/** Raises limits of the run. */
export function raiseLimits(limits: LimitOptions, at: Moment): Occurrence {
  return {
    at,
    written: ['raiseLimits', limits],
    idWord: 'raise',
    onServer: (run, id) => run.raise(limits, { id }),
    inMemory: (run, id) => run.update('raise', { id, limits: plainLimits('raise', limits) } satisfies RaiseInput),
  };
}

/** Returns the call that creates an occurrence, for messages. */
export function occurrenceText(occurrence: Occurrence): string {
  const { step, tool, waiting } = occurrence.at;
  const moment = `{step: ${step}${tool === undefined ? '' : `, tool: "${tool}"`}${waiting === undefined ? '' : `, waiting: "${waiting}"`}}`;
  const [name, argument] = occurrence.written;
  return `${name}(${JSON.stringify(argument)}, ${moment})`;
}
