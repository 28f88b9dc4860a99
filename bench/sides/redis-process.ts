import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePorts } from '../../src/dev-server/start-flags.ts';

/** A separate Redis on a free port, in memory. */
export interface RedisProcess {
  url: string;
  stop(): Promise<void>;
}

const START_WITHIN_MS = 10_000;
const AGAIN_MS = 50;

/** Starts Redis, and waits until it accepts connections. Throws if `redis-server` is not installed. */
export async function startRedis(): Promise<RedisProcess> {
  const [port = 0] = await freePorts([undefined]);
  const folder = mkdtempSync(join(tmpdir(), 'longhaul-redis-'));
  const child = spawn(
    'redis-server',
    ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'no'],
    {
      stdio: 'ignore',
    },
  );
  const ended = once(child, 'exit');
  const failed = Promise.race([ended, once(child, 'error')]).then(() => {
    throw new Error('redis-server did not start: install it, for example by "apt-get install redis-server"');
  });
  failed.catch(() => undefined);
  // It must not outlive this process, however that ends.
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  await Promise.race([accepting(port), failed]);
  return {
    url: `redis://127.0.0.1:${port}`,
    stop: async () => {
      process.off('exit', kill);
      kill();
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function accepting(port: number): Promise<void> {
  const deadline = Date.now() + START_WITHIN_MS;
  while (!(await accepts(port))) {
    if (Date.now() > deadline) throw new Error(`redis-server does not listen on port ${port}`);
    await pause(AGAIN_MS);
  }
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
