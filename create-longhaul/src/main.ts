#!/usr/bin/env node
import { createInterface } from 'node:readline/promises';
import { run } from './run.ts';

const controller = new AbortController();
const interrupt = (): void => {
  if (controller.signal.aborted) process.exit(130);
  controller.abort(new Error('interrupted'));
};
process.on('SIGINT', interrupt);
process.on('SIGTERM', interrupt);

async function ask(question: string): Promise<string> {
  const reader = createInterface({ input: process.stdin, output: process.stdout });
  reader.on('SIGINT', interrupt);
  try {
    return await reader.question(question, { signal: controller.signal });
  } finally {
    reader.close();
  }
}

process.exitCode = await run(process.argv.slice(2), {
  env: process.env,
  nodeVersion: process.versions.node,
  signal: controller.signal,
  ask: process.stdin.isTTY && process.stdout.isTTY ? ask : undefined,
  out: (line) => process.stdout.write(`${line}\n`),
  err: (line) => process.stderr.write(`${line}\n`),
});
