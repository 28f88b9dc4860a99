import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** A fake provider that runs in a process of its own. */
export interface FakeProvider {
  /** The `baseURL` for a client library. */
  baseURL: string;
  stop: () => void;
}

const PROGRAM = fileURLToPath(new URL('../../bench/script/provider-process.ts', import.meta.url));

/** Starts a fake provider on a free port of the loopback interface: by default that of the script. Throws if its process ends at once. */
export async function startFakeProvider(program: string = PROGRAM): Promise<FakeProvider> {
  const child = fork(program, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const [port] = await Promise.race([once(child, 'message'), once(child, 'exit').then(died)]);
  return { baseURL: `http://127.0.0.1:${String(port)}/v1`, stop: () => child.disconnect() };
}

function died(): never {
  throw new Error('The fake provider ended before it listened: see its output above');
}
