import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { ACTIVITIES } from '../src/protocol.ts';
import { connect, type LonghaulClient } from '../src/client/index.ts';
import { startDevServer } from '../src/dev-server/index.ts';
import { CallClock } from './call-clock.ts';
import { startFakeProvider } from './fake-provider.ts';
import { longhaulSide } from './longhaul-side.ts';
import { loopSide } from './loop-side.ts';
import { describeMachine, type Machine } from './machine.ts';
import { TOOL_NAME } from './scripted-run.ts';
import type { Side } from './side.ts';

/** All that a measurement needs, started and ready. */
export interface Surroundings {
  client: LonghaulClient;
  clock: CallClock;
  longhaul: Side;
  loop: Side;
  machine: Machine;
}

/**
 * Starts one tuned dev server (in memory, headless) and one fake provider, each in a process of its own, and a worker
 * for each side here; hands them to `measure`; and ends them all, the server last. A server that TEMPORAL_ADDRESS
 * names is not used: what its flags are nobody here knows.
 */
export async function withSurroundings<Result>(
  resultChars: number,
  say: (line: string) => void,
  measure: (surroundings: Surroundings) => Promise<Result>,
): Promise<Result> {
  Runtime.install({ logger: new DefaultLogger('WARN') });
  const server = await startDevServer({ say, env: { ...process.env, TEMPORAL_ADDRESS: '' } });
  const provider = await startFakeProvider();
  const { address, namespace } = server;
  const connection = await NativeConnection.connect({ address });
  const client = await connect({ address, namespace });
  const clock = new CallClock([ACTIVITIES.callModel, 'askModel', TOOL_NAME]);
  const sides: Side[] = [];
  try {
    const given = { address, namespace, baseURL: provider.baseURL, resultChars, codec: 'none' as const };
    const longhaul = await longhaulSide(connection, client, clock, given);
    sides.push(longhaul);
    const loop = await loopSide(connection, client.temporal, clock, given);
    sides.push(loop);
    const machine = await describeMachine(client.temporal);
    return await measure({ client, clock, longhaul, loop, machine });
  } finally {
    await Promise.all(sides.map((side) => side.stop()));
    await client.close();
    await connection.close();
    provider.stop();
    await server.stop();
  }
}
