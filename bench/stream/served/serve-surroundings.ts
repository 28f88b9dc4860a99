import { fileURLToPath } from 'node:url';
import { connect, type LonghaulClient } from '../../../src/client/index.ts';
import { startDevServer } from '../../../src/dev-server/dev-server.ts';
import { describeMachine, type Machine } from '../../figures/machine.ts';
import { BOUNDED_YOUNG_GENERATION } from '../../sides/measured-memory.ts';
import { startRedis } from '../../sides/redis-process.ts';
import { ProgramProcess } from '../../../test/processes/program-process.ts';
import { bundleToFile } from '../../../test/processes/workflow-bundle.ts';
import { startTokenProvider } from '../token-script.ts';
import type { ServedSink } from './serve-options.ts';
import type { ReadersReply, ReadersRequest, ReadersSetting, ServiceReply, ServiceRequest, ServiceSetting } from './serving-messages.ts';

/** The environment of a measurement of a service. */
export interface ServeSurroundings {
  /** The address of the service. */
  url: string;
  service: ProgramProcess<ServiceRequest, ServiceReply>;
  readers: ProgramProcess<ReadersRequest, ReadersReply>;
  /** Starts runs and decides, next to the service. */
  client: LonghaulClient;
  machine: Machine;
}

const SERVICE = fileURLToPath(new URL('../../processes/serving.ts', import.meta.url));
const WORKER = fileURLToPath(new URL('../../processes/reporting.ts', import.meta.url));
const READERS = fileURLToPath(new URL('../../processes/stream-readers.ts', import.meta.url));

/**
 * Starts a dev server, the service, its worker and the readers, each in a separate process; with memory as the sink, the worker is in the
 * service's process. Ends everything afterwards.
 */
export async function withService<Result>(
  sink: ServedSink,
  say: (line: string) => void,
  measure: (surroundings: ServeSurroundings) => Promise<Result>,
): Promise<Result> {
  await using all = new AsyncDisposableStack();
  const server = await startDevServer({ say, env: { ...process.env, TEMPORAL_ADDRESS: '' } });
  all.defer(() => server.stop());
  const { address, namespace } = server;
  const bundle = await bundleToFile();
  all.defer(() => bundle.remove());
  const provider = await startTokenProvider();
  all.defer(() => provider.stop());
  const redis = sink === 'redis' ? await startRedis() : undefined;
  all.defer(() => redis?.stop());
  const client = await connect({ address, namespace });
  all.defer(() => client.close());
  const setting: ServiceSetting = {
    address,
    namespace,
    bundlePath: bundle.path,
    providerURL: provider.baseURL,
    sink,
    redisUrl: redis?.url ?? '',
  };
  if (sink !== 'memory') {
    const worker = new ProgramProcess<{ type: 'stop' }, { type: 'ready' }>(WORKER, setting);
    await worker.start();
    all.defer(() => worker.stop({ type: 'stop' }));
  }
  const service = new ProgramProcess<ServiceRequest, ServiceReply>(SERVICE, setting, { execArgv: [BOUNDED_YOUNG_GENERATION] });
  await service.start();
  all.defer(() => service.stop({ type: 'stop' }));
  const { url } = await service.ask({ type: 'where' }, 'where');
  const given: ReadersSetting = { url };
  const readers = new ProgramProcess<ReadersRequest, ReadersReply>(READERS, given);
  await readers.start();
  all.defer(() => readers.stop({ type: 'stop' }));
  return await measure({ url, service, readers, client, machine: await describeMachine(client.temporal) });
}
