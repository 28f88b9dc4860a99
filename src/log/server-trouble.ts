import { connectionReason, isOfConnection } from '../core/domain/errors/connection-reason.ts';
import { errorMessage } from '../core/domain/errors/error.ts';
import type { LogEntry } from './log-line.ts';

/** The time for which a trouble is said once, in nanoseconds: each of a worker's many polls reports it, again and again. */
const ONCE_NANOS = 60_000_000_000n;

/** Says what calls to the server report in plain words, and once a minute instead of once for each poll. */
export class ServerTrouble {
  readonly #said = new Map<string, bigint>();

  /** Returns the entry to write instead of one about a call to the server: undefined if it was said. Another entry is returned as it is. */
  inPlainWords(entry: LogEntry): LogEntry | undefined {
    // The run has ended meanwhile, as one that was cancelled has: that is no trouble.
    if (entry.message.startsWith('Activity not found on completion')) return undefined;
    const { error, details, sdkComponent } = entry.meta ?? {};
    const told = [error, details]
      .map((part) => (part === undefined ? '' : errorMessage(part)))
      .join(' ')
      .trim();
    if (!isOfConnection(entry.message) && !isOfConnection(told)) return entry;
    const reason = connectionReason(`${entry.message} ${told}`);
    const before = this.#said.get(reason);
    if (before !== undefined && entry.timestampNanos - before < ONCE_NANOS) return undefined;
    this.#said.set(reason, entry.timestampNanos);
    const message = `The worker gets no answer of the Temporal server: ${reason}. It tries again, and runs continue once the server answers`;
    return { ...entry, message, meta: { sdkComponent } };
  }
}
