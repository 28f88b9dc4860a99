import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { LonghaulClient } from '../../src/client/index.ts';
import { errorMessage } from '../../src/core/domain/errors.ts';
import { OtlpReceiver, type ReceivedSpan } from './otlp-receiver.ts';
import { tokenProblems, traceProblems } from './trace-problems.ts';

/** The time that spans may wait in a worker, with some to spare, in milliseconds. */
const ON_THEIR_WAY_MS = 1_500;

/**
 * The traces that workers report, some of which were killed: together with the records of the runs, each trace is complete, and its tokens
 * are the tokens of the results.
 */
export class CollectedTraces {
  readonly #receiver: OtlpReceiver;
  readonly #callers = new Set<string>();

  private constructor(receiver: OtlpReceiver) {
    this.#receiver = receiver;
  }

  static async open(): Promise<CollectedTraces> {
    return new CollectedTraces(await OtlpReceiver.listen());
  }

  /** The URL of the collector that workers report to. */
  get url(): string {
    return this.#receiver.url;
  }

  /** Returns the place of a caller of a run, which is not a span of Longhaul. */
  traceparentOf(runId: string): string {
    const digest = createHash('sha256').update(`caller of ${runId}`).digest('hex');
    const spanId = digest.slice(32, 48);
    this.#callers.add(spanId);
    return `00-${digest.slice(0, 32)}-${spanId}-01`;
  }

  /** Returns the problems with the traces of runs that have ended, and of their descendants. `wasKilled`: so were processes of theirs. */
  async problems(client: LonghaulClient, runIds: readonly string[], { wasKilled }: { wasKilled: boolean }): Promise<string[]> {
    await pause(ON_THEIR_WAY_MS);
    const known = new Set<string>();
    const queue = [...runIds];
    try {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        if (known.has(next)) continue;
        known.add(next);
        this.#receiver.add(await client.handle(next).exportTrace());
        queue.push(...this.#childrenOf(next));
      }
    } catch (error) {
      return [`a trace cannot be read: ${errorMessage(error)}`];
    }
    const spans = runIds.flatMap((runId) => this.spansOf(runId));
    const problems = traceProblems(spans, this.#callers);
    return problems.length > 0 ? problems : tokenProblems(spans, { wasKilled });
  }

  /** Returns the spans of a run and of its descendants. */
  spansOf(runId: string): ReceivedSpan[] {
    return this.#receiver.spans.filter(({ values }) => isOf(runId, values['longhaul.run.id']));
  }

  close(): Promise<void> {
    return this.#receiver[Symbol.asyncDispose]();
  }

  /** Returns the runs that spans of a run name: itself, and its children. */
  #childrenOf(runId: string): string[] {
    const named = this.#receiver.spans.flatMap(({ values }) => [values['longhaul.run.id'], values['longhaul.child.run.id']]);
    return named.filter((one): one is string => typeof one === 'string' && isOf(runId, one));
  }
}

function isOf(runId: string, named: unknown): boolean {
  return named === runId || (typeof named === 'string' && named.startsWith(`${runId}/`));
}
