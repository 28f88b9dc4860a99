import { fileURLToPath } from 'node:url';
import { connect, type LonghaulClient } from '../../src/client/index.ts';
import { startDevServer } from '../../src/dev-server/dev-server.ts';
import { weighChain } from '../figures/chain-history.ts';
import { startFakeProvider } from '../../test/processes/fake-provider.ts';
import { inTurn } from '../figures/in-turn.ts';
import { describeMachine } from '../figures/machine.ts';
import type { Phase } from './peer-phases.ts';
import type { PhaseSamples } from './peer-samples.ts';
import { callsMadeBy, PEER_SIDES, type SideName } from './peer-sides.ts';
import { takeTurn, type Turn } from './peer-turn.ts';
import type { SideProcess } from '../sides/side-messages.ts';
import { ProgramProcess } from '../../test/processes/program-process.ts';

type Say = (line: string) => void;

/** The environment of a set-up. */
interface Stage {
  client: LonghaulClient;
  handles: Map<SideName, SideProcess>;
}

const MODEL_CLIENT = 'Chat Completions: streamed by Longhaul and the loops, whole by the plugins';

/**
 * How long each side works before it is measured, with many runs at once. V8 keeps optimizing code over tens of thousands of calls, and
 * takes longer the more code a call passes. A worker in production runs for days.
 */
const WARM_UP_MS = 90_000;
const WARM_UP_RUNS = 20;
const WARM_UP_STEPS = 50;

/**
 * Measures set-ups that differ only in their runs (`stagesOf`): starts a tuned dev server, a fake provider and one process for each side; then
 * runs rounds where the sides take turns, so that other load of the machine affects all of them.
 */
export async function measureStage(phases: readonly [Phase, ...Phase[]], say: Say): Promise<PhaseSamples[]> {
  const [{ sides, resultChars, codec }] = phases;
  const server = await startDevServer({ say, env: { ...process.env, TEMPORAL_ADDRESS: '' } });
  const provider = await startFakeProvider();
  const { address, namespace } = server;
  const client = await connect({ address, namespace });
  const handles = new Map<SideName, SideProcess>();
  try {
    for (const side of sides) {
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
    const machine = { ...(await describeMachine(client.temporal)), codec, modelClient: MODEL_CLIENT };
    const stage = { client, handles };
    if (phases.some(({ timed }) => timed)) await warmUp(sides, stage);
    const measured: PhaseSamples[] = [];
    for (const phase of phases) measured.push({ phase, machine, ...(await measureRounds(phase, stage, say)) });
    return measured;
  } finally {
    await Promise.all([...handles.values()].map((handle) => handle.stop({ type: 'stop' })));
    await client.close();
    await provider.stop();
    await server.stop();
  }
}

async function warmUp(sides: readonly SideName[], stage: Stage): Promise<void> {
  const left = new Map(sides.map((side) => [side, WARM_UP_MS]));
  while (left.size > 0) {
    for (const [side, ms] of left) {
      const begun = performance.now();
      await turnOf(stage, { side, steps: WARM_UP_STEPS, atOnce: WARM_UP_RUNS });
      const rest = ms - (performance.now() - begun);
      if (rest > 0) left.set(side, rest);
      else left.delete(side);
    }
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
