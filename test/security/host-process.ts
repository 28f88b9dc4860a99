import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Outcome } from './attack.ts';

const PROGRAM = fileURLToPath(new URL('host.ts', import.meta.url));
/** Milliseconds after which a host counts as dead. */
const PATIENCE_MS = 60_000;

/** The process where attempts are made. A process that dies is replaced. */
export class HostProcess {
  private child: ChildProcess | undefined;

  /** Makes an attempt, by its index; undefined if the host died of it. */
  async attack(index: number): Promise<Outcome | undefined> {
    const child = (this.child ??= await started());
    child.send(index);
    const outcome = await answer(child);
    if (outcome === undefined) {
      child.kill('SIGKILL');
      this.child = undefined;
    }
    return outcome as Outcome | undefined;
  }

  async close(): Promise<void> {
    const { child } = this;
    this.child = undefined;
    if (child === undefined) return;
    const exited = once(child, 'exit');
    child.disconnect();
    await exited;
  }
}

async function started(): Promise<ChildProcess> {
  const child = fork(PROGRAM, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  if ((await answer(child)) !== 'ready') throw new Error('the host did not start');
  return child;
}

/** The next message of a process; undefined if it ends, or takes too long. */
async function answer(child: ChildProcess): Promise<unknown> {
  const controller = new AbortController();
  const { signal } = controller;
  const timer = setTimeout(() => controller.abort(), PATIENCE_MS);
  try {
    return await Promise.race([
      once(child, 'message', { signal }).then(([message]: unknown[]) => message),
      once(child, 'exit', { signal }).then(() => undefined),
    ]);
  } catch {
    return undefined;
  } finally {
    clearTimeout(timer);
    controller.abort();
  }
}
