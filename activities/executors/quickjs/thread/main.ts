import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { type ExecutorFrame, frameText, type RunFrame, type ThreadData, type ThreadFrame, type ThreadSettings } from '../../frames.ts';
import type { CellPort, Cells } from './cells.ts';

/** Receives messages while the thread blocks: the executor increments `wake` with each message. */
class Mailbox {
  private readonly port: MessagePort;
  private readonly wake: Int32Array;

  constructor(port: MessagePort, wake: SharedArrayBuffer) {
    this.port = port;
    this.wake = new Int32Array(wake);
  }

  /** Waits for the next message. The end of the thread ends the wait. */
  receive(): unknown {
    for (;;) {
      const seen = Atomics.load(this.wake, 0);
      const received = receiveMessageOnPort(this.port);
      if (received !== undefined) return received.message;
      Atomics.wait(this.wake, 0, seen);
    }
  }
}

/**
 * The program of an executor's thread: it runs cells sequentially and answers in frames of JSON text; only memory images are bytes. It
 * trusts its input, which only comes from the executor. The engine is loaded with the first cell.
 */

const data = workerData as ThreadData;
const settings = JSON.parse(data.settings) as ThreadSettings;
if (parentPort === null) throw new Error('this program only runs in a thread');
const messagePort = parentPort;
const mailbox = new Mailbox(messagePort, data.wake);
let cells: Cells | undefined;

function send(frame: ThreadFrame): void {
  messagePort.postMessage(frameText(frame));
}

const cellPort: CellPort = {
  write: (text) => send({ type: 'output', text }),
  ask: (calls, durationMs) => {
    send({ type: 'calls', calls: calls as [], durationMs });
    return String(mailbox.receive());
  },
};

async function loaded(now: number): Promise<Cells> {
  const { Cells: Loaded } = await import('./cells.ts');
  return (cells ??= await Loaded.create(data.engine, settings, cellPort, now));
}

async function runCell(frame: RunFrame): Promise<void> {
  const ready = await loaded(frame.now);
  send({ type: 'began' });
  send(await ready.run(frame));
}

async function checkpoint(injected: readonly [string, string][]): Promise<void> {
  const bytes = (await loaded(0)).checkpoint(injected);
  messagePort.postMessage(bytes, [bytes.buffer]);
}

async function restoreMemory(bytes: Uint8Array): Promise<void> {
  const { Cells: Loaded } = await import('./cells.ts');
  const restored = await Loaded.restore(data.engine, settings, cellPort, bytes);
  if (typeof restored === 'string') return send({ type: 'restored', problem: restored });
  cells = restored;
  send({ type: 'restored', scratchpad: restored.scratchpad() });
}

// A failure here fails the thread, and the executor is notified.
messagePort.on('message', (received: string | Uint8Array) => {
  if (typeof received !== 'string') return void restoreMemory(received);
  const frame = JSON.parse(received) as ExecutorFrame;
  void (frame.type === 'run' ? runCell(frame) : checkpoint(frame.injected));
});
