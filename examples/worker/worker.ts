// A worker as a service in production has it: providers by name, encryption, large results and the record on disk.
import { createWorker, type CreateWorkerOptions, fileArchive, fileStore, type LonghaulWorker, openai } from 'longhaul/worker';
import { monitor, triage } from '../options/agents.ts';

export function productionWorker(directory: string, more: Partial<CreateWorkerOptions> = {}): Promise<LonghaulWorker> {
  return createWorker({
    agents: [triage, monitor],
    providers: { openai: openai(), local: openai({ baseURL: 'http://localhost:11434/v1', apiKey: 'none' }) },
    codec: { compression: true, encryption: 'environment' }, // keys: LONGHAUL_ENCRYPTION_KEYS=id:base64,…
    payloadStore: fileStore({ directory: `${directory}/results` }),
    archive: fileArchive({ directory: `${directory}/archive` }),
    shutdownGrace: '5m', // after SIGTERM calls in flight may finish; the rest goes to the next worker
    ...more,
  });
}
