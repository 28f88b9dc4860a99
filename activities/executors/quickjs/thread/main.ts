import { parentPort, workerData } from 'node:worker_threads';
import type { RunFrame, ThreadFrame, ThreadLimits } from '../frames.ts';
import { frameText } from '../frames.ts';
import type { Cells } from './cells.ts';

/**
 * The program of an executor's thread: it runs one cell after the other and answers in frames of JSON text. It trusts the frames
 * that it receives, which come from the executor alone. The engine is loaded with the first cell.
 */

const limits = JSON.parse(String(workerData)) as ThreadLimits;
let cells: Cells | undefined;

function send(frame: ThreadFrame): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- A port of a thread has no origin.
  parentPort?.postMessage(frameText(frame));
}

async function run(frame: RunFrame): Promise<void> {
  if (cells === undefined) {
    const { Cells: Loaded } = await import('./cells.ts');
    cells = await Loaded.create(limits, (text) => send({ type: 'output', text }), frame.now);
  }
  send({ type: 'began' });
  send(cells.run(frame));
}

// What fails here fails the thread: the executor hears of it.
parentPort?.on('message', (text: string) => void run(JSON.parse(text) as RunFrame));
