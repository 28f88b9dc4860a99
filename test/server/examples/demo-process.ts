import { spawn } from 'node:child_process';
import { createConnection } from 'node:net';
import { inject } from 'vitest';

/** The output of a demo, and its exit code. */
export interface EndedDemo {
  text: string;
  exitCode: number | null;
}

/** Runs a demo in a separate process, and sends it a SIGINT as soon as its output matches. */
export async function demo(
  env: Record<string, string>,
  { script = 'kipchoge', flags = [], interruptAt }: { script?: string; flags?: string[]; interruptAt?: RegExp },
): Promise<EndedDemo> {
  const clean = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(OPENAI|TEMPORAL)_/.test(name)));
  const child = spawn(process.execPath, [`examples/${script}/demo.ts`, ...flags], {
    env: { ...clean, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  let interrupted = false;
  const read = (chunk: Buffer): void => {
    text += chunk.toString();
    if (interrupted || interruptAt === undefined || !interruptAt.test(text)) return;
    interrupted = true;
    child.kill('SIGINT');
  };
  child.stdout.on('data', read);
  child.stderr.on('data', read);
  const exitCode = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { text, exitCode };
}

/** With these variables the demo starts its own server, with the CLI of the tests. */
export function ownServer(): Record<string, string> {
  const cliPath = inject('temporalCliPath');
  return cliPath === undefined ? {} : { TEMPORAL_CLI_PATH: cliPath };
}

/** Returns true if a process listens at `host:port`. */
export async function isOpen(address: string): Promise<boolean> {
  const [host, port] = address.split(':');
  return await new Promise((resolve) => {
    const socket = createConnection({ host: host ?? '', port: Number(port) });
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
