import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { ACTIVITIES } from '../../src/core/protocol.ts';
import { connect, type LonghaulClient } from '../../src/client/index.ts';
import { startDevServer } from '../../src/dev-server/dev-server.ts';
import { CallClock } from './call-clock.ts';
import { startFakeProvider } from '../../test/processes/fake-provider.ts';
import type { CommandClock } from '../local/command-clock.ts';
import { EMPTY_CALL, localSides } from '../local/sides.ts';
import { longhaulSide } from './longhaul-side.ts';
import { loopSide } from './loop-side.ts';
import { describeMachine, type Machine } from '../figures/machine.ts';
import { TOOL_NAME } from '../script/scripted-run.ts';
import type { Side, Tier } from './side.ts';

/** The environment of a measurement, started and ready. */
export interface Surroundings {
  client: LonghaulClient;
  clock: CallClock;
  /** The sides that are compared, Longhaul first and the loop second. */
  sides: readonly [longhaul: Side, loop: Side, ...others: Side[]];
  /** The sides for a local tool. */
  commands?: CommandClock;
  machine: Machine;
}

/**
 * Starts one tuned dev server (in memory, headless) and one fake provider, each in a separate process, and a worker for each side in this
 * process; passes them to `measure`; and ends them all, the server last. A server that TEMPORAL_ADDRESS names is not used, because its
 * flags are unknown.
 */
export async function withSurroundings<Result>(
  { resultChars, tier }: { resultChars: number; tier: Tier },
  say: (line: string) => void,
  measure: (surroundings: Surroundings) => Promise<Result>,
): Promise<Result> {
  Runtime.install({ logger: new DefaultLogger('WARN') });
  const server = await startDevServer({ say, env: { ...process.env, TEMPORAL_ADDRESS: '' } });
  const provider = await startFakeProvider();
  const { address, namespace } = server;
  const connection = await NativeConnection.connect({ address });
  const client = await connect({ address, namespace });
  const clock = new CallClock([ACTIVITIES.callModel, 'askModel', TOOL_NAME, EMPTY_CALL]);
  const started: Side[] = [];
  try {
    const given = { address, namespace, baseURL: provider.baseURL, resultChars, codec: 'none' as const, tier };
    const loop = await loopSide(connection, client.temporal, clock, given);
    started.push(loop);
    const local = tier === 'local' ? await localSides(connection, client, clock, given) : undefined;
    const longhaul = local?.longhaul ?? (await longhaulSide(connection, client, clock, given));
    started.push(longhaul);
    const machine = await describeMachine(client.temporal);
    const others = local === undefined ? {} : { commands: local.commands };
    return await measure({ client, clock, sides: [longhaul, loop, ...(local?.others ?? [])], ...others, machine });
  } finally {
    await Promise.all(started.map((side) => side.stop()));
    await client.close();
    await connection.close();
    await provider.stop();
    await server.stop();
  }
}
