// Everything that Temporal stores of a run is encrypted: worker and service have the keys, the server does not.
import { defineAgent } from 'longhaul';
import { type CodecOptions, connect, type ConnectOptions, type LonghaulClient } from 'longhaul/client';
import { createWorker, type CreateWorkerOptions, type LonghaulWorker } from 'longhaul/worker';

export const doctor = defineAgent({
  name: 'doctor', // names of agents and tools, run ids and tags stay readable: put nothing personal there
  model: 'openai/gpt-5',
  instructions: 'You explain findings in plain words.',
});

/** Where your keys are: 32 bytes each, by id. A function is called once for an id, and again if it threw. */
export interface KeyStore {
  read: (keyId: string) => Promise<Uint8Array | undefined>;
}

/**
 * Writes with `activeKeyId`, and reads with whichever key a payload names. To rotate: give all processes the new key first, then make it
 * the active one; keep the old one until the last run that used it is gone from the server.
 */
export function codecOf(keys: KeyStore, activeKeyId: string): CodecOptions {
  return { compression: true, encryption: { activeKeyId, keys: (keyId) => keys.read(keyId) } };
}

/** Workers first, then clients: a worker must be able to read what a client encrypts. */
export function encryptedWorker(codec: CodecOptions, options: Omit<CreateWorkerOptions, 'agents' | 'codec'>): Promise<LonghaulWorker> {
  return createWorker({ ...options, agents: [doctor], codec });
}

export function encryptedClient(codec: CodecOptions, options: Omit<ConnectOptions, 'codec'> = {}): Promise<LonghaulClient> {
  return connect({ ...options, codec });
}
