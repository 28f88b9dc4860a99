// Ends a process together with its parent, whose pipe is its standard input: a test that fails leaves no process behind.
import type { Socket } from 'node:net';
import { isMainThread } from 'node:worker_threads';

// Threads of the process load this module, too.
if (isMainThread) {
  const input = process.stdin as unknown as Socket;
  input.resume().once('end', () => process.exit(1));
  input.unref();
}
