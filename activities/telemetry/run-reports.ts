import type { Client } from '@temporalio/client';
import type { TracedEnd, TracedPart } from '../../src/core/domain/traced-part.ts';
import { dollarsOf } from '../../src/core/domain/usage.ts';
import type { MeasuredAnswer, Metrics } from '../../src/telemetry/metrics.ts';
import { countSpans, runSpans } from '../../src/telemetry/run-spans.ts';
import { type CarriedOutTask, isAccepted } from './accepted-task.ts';
import type { WorkerTelemetry } from './call-spans.ts';

/** A part of a run's record, ended by a turn or an execution. */
export interface ReportedPart extends CarriedOutTask {
  /** The key of a run inside a user's workflow, or empty. */
  key: string;
  part: TracedPart;
}

/**
 * Reports the spans and metrics of parts of records, once the server has accepted the workflow tasks that ended them: otherwise a run that
 * a message kept from ending would have two ends. Nothing waits for it.
 */
export class RunReports {
  readonly #worker: WorkerTelemetry;
  readonly #pending = new Set<Promise<void>>();
  #hurried = new AbortController();
  #users = 0;

  constructor(worker: WorkerTelemetry) {
    this.#worker = worker;
  }

  /** Reports a part. Never throws: losses are counted. Without a client, acceptance is unknown. */
  report(client: Client | undefined, reported: ReportedPart): void {
    if (isEmpty(reported.part)) return;
    const pending: Promise<void> = this.#report(client, reported)
      .catch(() => this.#lose(reported))
      .finally(() => this.#pending.delete(pending));
    this.#pending.add(pending);
  }

  /** Registers a worker as a user. Call `close` afterwards. */
  open(): void {
    this.#users += 1;
  }

  /**
   * Resolves once all parts are reported and sent, or abandoned. Does nothing while another worker uses it, whose recent tasks the server
   * may still be accepting.
   */
  async close(): Promise<void> {
    this.#users -= 1;
    if (this.#users > 0) return;
    await this.flush();
    await this.#worker.telemetry.flush();
  }

  /** Resolves once all parts are reported or abandoned. */
  async flush(): Promise<void> {
    this.#hurried.abort();
    await Promise.all(this.#pending);
    this.#hurried = new AbortController();
  }

  async #report(client: Client | undefined, { part, key, ...task }: ReportedPart): Promise<void> {
    const { telemetry, traces } = this.#worker;
    const accepted = client && (await isAccepted(client, task, { hurried: this.#hurried.signal }));
    if (accepted === false) return;
    // The task may be executed again, and would be counted twice.
    if (client === undefined || accepted === undefined) return this.#lose({ part });
    telemetry.measure((metrics) => measureEnds(metrics, part));
    if (!telemetry.hasSpans) return;
    const { workflowId, executionId } = task;
    const trace = await traces.of(client, { workflowId, executionId, key });
    if (trace === undefined) this.#lose({ part });
    else for (const span of telemetry.guarded(() => runSpans(trace, part)) ?? []) telemetry.report(trace, span);
  }

  /** Counts the spans of an unreported part. An end always counts, although a session's end has no span. */
  #lose({ part }: Pick<ReportedPart, 'part'>): void {
    const { telemetry } = this.#worker;
    const lost = Math.max(telemetry.hasSpans ? countSpans(part) : 0, part.end === undefined ? 0 : 1);
    if (lost > 0) telemetry.drop(lost);
  }
}

/** True for a part with nothing to report: no waits, and no ends. */
function isEmpty({ cachesLost = [], end, ...part }: TracedPart): boolean {
  return end === undefined && cachesLost.length === 0 && countSpans(part) === 0;
}

/** Counts lost caches, and ended turns and runs. The amounts of a session are counted by turn. */
function measureEnds(metrics: Metrics, { turns, cachesLost = [], end }: TracedPart): void {
  for (const model of cachesLost) metrics.cacheLost(model);
  for (const turn of turns) metrics.answered(amountsOf(turn));
  if (end === undefined) return;
  const { agent, status, stopReason, isSession } = end;
  metrics.runEnded({ agent, status, stopReason });
  if (!isSession) metrics.answered(amountsOf(end));
}

function amountsOf({ agent, errorCode, isWorkflow, isFlow, usage, toolCalls, from, to }: TracedEnd): MeasuredAnswer {
  return {
    agent,
    isWorkflow: isWorkflow || isFlow === true,
    seconds: (to - from) / 1_000,
    modelCalls: usage.llmCalls,
    toolCalls,
    dollars: dollarsOf(usage),
    code: errorCode,
  };
}
