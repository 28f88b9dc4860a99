import { Client, Connection } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { loopSide } from '../sides/loop-side.ts';
import { serveSide } from '../sides/side-process.ts';
import { quietRuntime } from '../../test/processes/quiet-runtime.ts';

await serveSide(async (setting, clock) => {
  quietRuntime();
  const { address, namespace } = setting;
  const connection = await NativeConnection.connect({ address });
  const client = new Client({ connection: await Connection.connect({ address }), namespace });
  return loopSide(connection, client, clock, setting);
});
