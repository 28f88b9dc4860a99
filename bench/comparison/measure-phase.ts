import { fileURLToPath } from 'node:url';
import { connect, type LonghaulClient } from '../../src/client/index.ts';
import { startDevServer } from '../../src/dev-server/dev-server.ts';
import { weighChain } from '../figures/encoded-history.ts';
import { startFakeProvider } from '../../test/processes/fake-provider.ts';
import { inTurn, callsOf } from '../sides/side.ts';
import { describeMachine } from '../figures/machine.ts';
import type { Phase, PhaseSamples, Ending, Sample } from './peer-phases.ts';
import { callsMadeBy, PEER_SIDES, type SideName } from './peer-sides.ts';
import type { SideProcess, SideRun } from '../sides/side-process.ts';
import { ProgramProcess } from '../../test/processes/program-process.ts';
import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';
import { randomUUID } from 'node:crypto';
import { runHistory } from '../../src/history/history-events.ts';
import { gapsBetween, roundFigures, stepTimes, type TimedRun } from '../latency.ts';
import { rounded, sum } from '../figures/statistics.ts';

type Say = (line: string) => void;

/** The environment of a set-up. */
interface Stage {
  client: LonghaulClient;
  handles: Map<SideName, SideProcess>;
}

const MODEL_CLIENT = 'Chat Completions: streamed by Longhaul and the loops, whole by the plugins';

/** Runs that are not measured: they load and compile code, and open connections. */
const WARM_UP_RUNS = 4;
const WARM_UP_STEPS = 50;

/**
 * Measures one set-up: starts a tuned dev server, a fake provider and one process for each side; then runs rounds where the sides take
 * turns, so that other load of the machine affects all of them.
 */
export async function measurePhase(phase: Phase, say: Say): Promise<PhaseSamples> {
  const server = await startDevServer({ say, env: { ...process.env, TEMPORAL_ADDRESS: '' } });
  const provider = await startFakeProvider();
  const { address, namespace } = server;
  const client = await connect({ address, namespace });
  const handles = new Map<SideName, SideProcess>();
  try {
    for (const side of phase.sides) {
      const { resultChars, codec } = phase;
      const setting = {
        address,
        namespace,
        baseURL: provider.baseURL,
        resultChars,
        codec,
        tier: 'remote' as const,
        calls: callsMadeBy(side),
      };
      const handle: SideProcess = new ProgramProcess(fileURLToPath(PEER_SIDES[side].program), setting);
      handles.set(side, handle);
      await handle.start();
    }
    const machine = { ...(await describeMachine(client.temporal)), codec: phase.codec, modelClient: MODEL_CLIENT };
    const stage = { client, handles };
    if (phase.timed) await warmUp(phase, stage);
    return { phase, machine, ...(await measureRounds(phase, stage, say)) };
  } finally {
    await Promise.all([...handles.values()].map((handle) => handle.stop({ type: 'stop' })));
    await client.close();
    await provider.stop();
    await server.stop();
  }
}

async function warmUp({ steps, sides, atOnce }: Phase, stage: Stage): Promise<void> {
  for (let runs = 0; runs < WARM_UP_RUNS; runs += atOnce) {
    for (const side of sides) await turnOf(stage, { side, steps: Math.min(steps, WARM_UP_STEPS), atOnce });
  }
}

async function measureRounds(phase: Phase, stage: Stage, say: Say): Promise<Pick<PhaseSamples, 'samples' | 'retries'>> {
  const samples: PhaseSamples['samples'] = {};
  const retries: PhaseSamples['retries'] = {};
  for (let round = 1; round <= phase.rounds; round += 1) {
    for (const side of inTurn(phase.sides, round)) {
      const { steps, atOnce } = phase;
      const turn = await persistently(say, () => turnOf(stage, { side, steps, atOnce }));
      if (phase.weighed) turn.sample.history = await weighChain(stage.client.temporal, turn.runId, PEER_SIDES[side].modelActivity);
      (samples[side] ??= []).push(turn.sample);
      retries[side] = turn.retries;
      say(`${phase.name}, round ${round} of ${phase.rounds}: ${turnLine(side, turn)}`);
    }
  }
  return { samples, retries };
}

async function turnOf({ client, handles }: Stage, plan: { side: SideName; steps: number; atOnce: number }): Promise<Turn> {
  const handle = handles.get(plan.side);
  if (handle === undefined) throw new RangeError(`Nothing was started for "${plan.side}"`);
  return takeTurn(handle, client.temporal, plan);
}

/** If the machine is busy for a moment, the earlier measurements must not be lost: a failed turn is repeated once. */
async function persistently(say: Say, take: () => Promise<Turn>): Promise<Turn> {
  try {
    return await take();
  } catch (error) {
    say(`${error instanceof Error ? error.message : String(error)}; once more`);
    return take();
  }
}

function turnLine(side: SideName, { sample: { ending, latency, cpuMsPerCall, history } }: Turn): string {
  const stored = history === undefined ? '' : `, ${history.bytes} bytes in ${history.events} events`;
  const end = ending.type === 'killed' ? `, killed at step ${ending.step} (${ending.reason})` : '';
  return `${side}: p50 ${latency.msPerCallP50} ms, ${latency.callsPerSecond} calls/s, CPU ${cpuMsPerCall} ms per call${stored}${end}`;
}

const { EventType } = proto.temporal.api.enums.v1;

/** The time after which a turn is given up as stuck. */
const TURN_WITHIN_MS = 600_000;

/** The parameters of a side's turn. */
interface TurnPlan {
  side: SideName;
  steps: number;
  atOnce: number;
}

/** The measurements of a turn, with the id of one of its runs. */
interface Turn {
  sample: Sample;
  runId: string;
  retries: number;
}

/**
 * Runs one turn of a side: `atOnce` runs at once, with their times and CPU. Throws if one ends without its answer, unless the
 * server terminated it at its limit.
 */
async function takeTurn(handle: SideProcess, client: Client, { side, steps, atOnce }: TurnPlan): Promise<Turn> {
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
