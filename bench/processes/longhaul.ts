import { NativeConnection } from '@temporalio/worker';
import { connect } from '../../src/client/index.ts';
import { codecOptions, longhaulSide } from '../sides/longhaul-side.ts';
import { serveSide } from '../sides/side-process.ts';
import { quietRuntime } from '../../test/processes/quiet-runtime.ts';

await serveSide(async (setting, clock) => {
  quietRuntime();
  const { address, namespace, codec } = setting;
  const connection = await NativeConnection.connect({ address });
  return longhaulSide(connection, await connect({ address, namespace, ...codecOptions(codec) }), clock, setting);
});
