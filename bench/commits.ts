import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connect } from '../src/client/index.ts';
import { ACTIVITIES } from '../src/core/protocol.ts';
import { type DevServer, startDevServer } from '../src/dev-server/dev-server.ts';
import { checkOut } from '../test/processes/checkout.ts';
import { startFakeProvider } from '../test/processes/fake-provider.ts';
import { ProgramProcess } from '../test/processes/program-process.ts';
import { quietRuntime } from '../test/processes/quiet-runtime.ts';
import { inTurn } from './sides/side.ts';
import { describeMachine, serverCpuClock } from './figures/machine.ts';
import type { LatencyOptions } from './options.ts';
import { TOOL_NAME } from './script/scripted-run.ts';
import type { SideProcess } from './sides/side-process.ts';
import { medians, ratios, takeTurn, type TurnFigures, turnLine, warmUp } from './sides/turn.ts';

type Say = (line: string) => void;

/** The current project, and the project in the commit. */
const SIDES = ['now', 'before'] as const;
type SideName = (typeof SIDES)[number];

const PROJECT = fileURLToPath(new URL('../', import.meta.url));

/** The process of a side in a checkout: it has the same messages in every commit that can be measured. */
const PROGRAM = 'bench/processes/longhaul.ts';

/** One side with its own server: the workers of both poll a task queue of the same name. */
interface CommitSide {
  side: SideProcess;
  server: DevServer;
  serverCpuMs: () => number;
}

/** Compares the time and the processor time of calls with another commit, each in a separate process. */
export async function measureCommits({ against, ...options }: LatencyOptions & { against: string }, say: Say): Promise<object> {
  const { commit, folder, remove } = checkOut(against);
  try {
    return { against: commit, ...(await withSides(folder, options, say)) };
  } finally {
    remove();
  }
}

async function withSides(folder: string, options: LatencyOptions, say: Say): Promise<object> {
  quietRuntime();
  const provider = await startFakeProvider();
  const sides = new Map<SideName, CommitSide>();
  const begin = async (name: SideName, program: string): Promise<void> => {
    const server = await startDevServer({ say, env: { ...process.env, TEMPORAL_ADDRESS: '' } });
    const { address, namespace } = server;
    const { resultChars, tier } = options;
    const calls = [ACTIVITIES.callModel, TOOL_NAME];
    const side: SideProcess = new ProgramProcess(program, {
      address,
      namespace,
      baseURL: provider.baseURL,
      resultChars,
      codec: 'none',
      tier,
      calls,
    });
    sides.set(name, { side, server, serverCpuMs: serverCpuClock(address) ?? (() => 0) });
    await side.start();
  };
  try {
    await begin('now', join(PROJECT, PROGRAM));
    await begin('before', join(folder, PROGRAM));
    return await compare(sides, options, say);
  } finally {
    await Promise.all([...sides.values()].map(({ side }) => side.stop({ type: 'stop' })));
    await Promise.all([...sides.values()].map(({ server }) => server.stop()));
    await provider.stop();
  }
}

async function compare(
  sides: ReadonlyMap<SideName, CommitSide>,
  { steps, runs, concurrency, rounds, resultChars, tier }: LatencyOptions,
  say: Say,
): Promise<object> {
  const turn = async (name: SideName, work: { steps: number; runs: number; concurrency: number }): Promise<TurnFigures> => {
    const one = sides.get(name);
    if (one === undefined) throw new RangeError(`Nothing was started for "${name}"`);
    return takeTurn(one.side, work, { newId: () => `${name}-${randomUUID()}`, serverCpuMs: one.serverCpuMs });
  };
  const work = { steps, runs, concurrency };
  for (const name of SIDES) await turn(name, warmUp(work));
  const measured: Record<SideName, TurnFigures[]> = { now: [], before: [] };
  for (let round = 1; round <= rounds; round += 1)
    for (const name of inTurn(SIDES, round)) {
      const figures = await turn(name, work);
      measured[name].push(figures);
      say(`round ${round} of ${rounds}, ${name}: ${turnLine(figures)}`);
    }
  return {
    steps,
    runs,
    concurrency,
    rounds,
    resultChars,
    tier,
    now: medians(measured.now),
    before: medians(measured.before),
    nowToBefore: ratios(measured.now, measured.before),
    machine: await machineOf(sides.get('now')?.server),
  };
}

async function machineOf(server: DevServer | undefined): Promise<object> {
  if (server === undefined) return {};
  const client = await connect({ address: server.address, namespace: server.namespace });
  try {
    return await describeMachine(client.temporal);
  } finally {
    await client.close();
  }
}
