import { setTimeout as pause } from 'node:timers/promises';
import type { LonghaulClient } from '../../../src/client/index.ts';
import { errorMessage } from '../../../src/core/domain/errors.ts';
import { OtlpReceiver, type ReceivedSpan } from '../../telemetry/otlp-receiver.ts';

/** The time that spans may wait in a worker, with some to spare, in milliseconds. */
const ON_THEIR_WAY_MS = 1_500;

/** Checks the traces that workers report, some of which were killed: together with what the records of the runs say, each is complete. */
export class TraceCheck {
  readonly #receiver: OtlpReceiver;

  private constructor(receiver: OtlpReceiver) {
    this.#receiver = receiver;
  }

  static async open(): Promise<TraceCheck> {
    return new TraceCheck(await OtlpReceiver.listen());
  }

  /** The URL of the collector that workers report to. */
  get url(): string {
    return this.#receiver.url;
  }

  /** Returns the problems with the traces of a run that has ended, and of its descendants. */
  async problems(client: LonghaulClient, runId: string): Promise<string[]> {
    await pause(ON_THEIR_WAY_MS);
    const known = new Set<string>();
    try {
      for (let next: string | undefined = runId; next !== undefined; next = this.#runs(runId).find((one) => !known.has(one))) {
        known.add(next);
        this.#receiver.add(await client.handle(next).exportTrace());
      }
    } catch (error) {
      return [`its trace cannot be read: ${errorMessage(error)}`];
    }
    return traceProblems(this.#receiver.spans.filter(({ values }) => isOf(runId, values['longhaul.run.id'])));
  }

  close(): Promise<void> {
    return this.#receiver[Symbol.asyncDispose]();
  }

  /** Returns the runs that spans of a run and its descendants name. */
  #runs(runId: string): string[] {
    const named = this.#receiver.spans.flatMap(({ values }) => [values['longhaul.run.id'], values['longhaul.child.run.id']]);
    return named.filter((one): one is string => typeof one === 'string' && isOf(runId, one));
  }
}

function isOf(runId: string, named: unknown): boolean {
  return named === runId || (typeof named === 'string' && named.startsWith(`${runId}/`));
}

/** Returns what is wrong with the spans of one or several traces: each has one root, and no span lacks its parent or has two contents. */
export function traceProblems(spans: readonly ReceivedSpan[]): string[] {
  const problems: string[] = [];
  const traces = Map.groupBy(spans, ({ traceId }) => traceId);
  for (const [traceId, all] of traces) {
    const byId = Map.groupBy(all, ({ spanId }) => spanId);
    for (const [spanId, same] of byId) {
      const contents = new Set(same.map(contentOf));
      if (contents.size > 1) problems.push(`span ${spanId} has ${contents.size} contents:`, ...[...contents].map((one) => `  ${one}`));
    }
    const roots = [...byId.values()].flatMap(([span]) => (span !== undefined && span.parentSpanId === undefined ? [span.name] : []));
    if (roots.length !== 1) problems.push(`trace ${traceId} has ${roots.length} roots: ${roots.join(', ')}`);
    for (const [span] of byId.values()) {
      const parent = span?.parentSpanId;
      if (parent !== undefined && !byId.has(parent))
        problems.push(`span "${span?.name}" of run "${String(span?.values['longhaul.run.id'])}" has no parent`);
    }
  }
  return traces.size === 0 ? ['there are no spans'] : problems;
}

function contentOf({ resource: _, attributes: __, values, ...span }: ReceivedSpan): string {
  const sorted = Object.entries(values).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return JSON.stringify({
    ...Object.fromEntries(Object.entries(span).toSorted(([one], [other]) => (one < other ? -1 : 1))),
    values: sorted,
  });
}
