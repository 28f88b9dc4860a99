import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';
import { randomUUID } from 'node:crypto';
import { runHistory } from '../../src/history/history-events.ts';
import { gapsBetween, roundFigures, stepTimes, type TimedRun } from '../latency/latency.ts';
import type { Ending, Sample } from './peer-samples.ts';
import type { SideName } from './peer-sides.ts';
import type { SideProcess, SideRun } from '../sides/side-messages.ts';
import { callsOf } from '../sides/side.ts';
import { rounded, sum } from '../figures/statistics.ts';

const { EventType } = proto.temporal.api.enums.v1;

/** The time after which a turn is given up as stuck. */
const TURN_WITHIN_MS = 600_000;

/** The parameters of a side's turn. */
export interface TurnPlan {
  side: SideName;
  steps: number;
  atOnce: number;
}

/** The measurements of a turn, with the id of one of its runs. */
export interface Turn {
  sample: Sample;
  runId: string;
  retries: number;
}

/**
 * Runs one turn of a side: `atOnce` runs at once, with their times and CPU. Throws if one ends without its answer, unless the
 * server terminated it at its limit.
 */
export async function takeTurn(handle: SideProcess, client: Client, { side, steps, atOnce }: TurnPlan): Promise<Turn> {
  const runIds = Array.from({ length: atOnce }, () => `peers-${side}-${randomUUID()}`);
  const { ms: cpuBefore } = await handle.ask({ type: 'cpu' }, 'cpu');
  const start = performance.now();
  const runs = await within(
    TURN_WITHIN_MS,
    side,
    Promise.all(runIds.map((runId) => handle.ask({ type: 'run', runId, steps }, 'ran', (ran) => ran.runId === runId))),
  );
  const ms = performance.now() - start;
  const { ms: cpuAfter } = await handle.ask({ type: 'cpu' }, 'cpu');
  const endings = await Promise.all(runs.map((run) => endingOf(client, run, steps)));
  const timed = runs.map((run): TimedRun => ({ ms: run.ms, gaps: gapsBetween(run.starts) }));
  const sample: Sample = {
    ending: endings.find(({ type }) => type === 'killed') ?? { type: 'completed' },
    latency: roundFigures(timed, ms),
    cpuMsPerCall: rounded((cpuAfter - cpuBefore) / sum(runs.map(({ starts }) => starts.length)), 3),
    stepMs: timed.length === 1 ? timed.flatMap(stepTimes).map((step) => rounded(step, 2)) : [],
  };
  return { sample, runId: runIds[0] ?? '', retries: Math.max(...runs.map(({ retries }) => retries)) };
}

async function endingOf(client: Client, { runId, error, starts }: SideRun, steps: number): Promise<Ending> {
  if (error === undefined && starts.length === callsOf(steps)) return { type: 'completed' };
  if (error === undefined) throw new Error(`Run "${runId}" made ${starts.length} calls, not ${callsOf(steps)}`);
  for await (const event of runHistory(client, runId)) {
    if (event.eventType !== EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED) continue;
    const reason = event.workflowExecutionTerminatedEventAttributes?.reason ?? error;
    return { type: 'killed', step: Math.ceil(starts.length / 2), reason };
  }
  throw new Error(`Run "${runId}" came to no answer: ${error}`);
}

async function within<Value>(ms: number, side: SideName, work: Promise<Value>): Promise<Value> {
  const limit = Promise.withResolvers<never>();
  const timer = setTimeout(() => limit.reject(new Error(`A turn of "${side}" took more than ${ms / 1_000} s`)), ms);
  try {
    return await Promise.race([work, limit.promise]);
  } finally {
    clearTimeout(timer);
  }
}
