import type { Client } from '@temporalio/client';
import { createRequire } from 'node:module';
import { cpus, platform, release, totalmem } from 'node:os';

/** The machine and the versions of a measurement. */
export interface Machine {
  cores: number;
  cpu: string;
  memoryGiB: number;
  system: string;
  node: string;
  sdk: string;
  server: string;
  codec: string;
  modelClient: string;
}

const GIB = 1024 ** 3;

/** Describes the machine, the versions and the set-up, which are stored with every figure. */
export async function describeMachine(client: Client): Promise<Machine> {
  const { serverVersion } = await client.workflowService.getSystemInfo({});
  const { version } = createRequire(import.meta.url)('@temporalio/worker/package.json') as { version: string };
  return {
    cores: cpus().length,
    cpu: cpus()[0]?.model ?? 'unknown',
    memoryGiB: Math.round(totalmem() / GIB),
    system: `${platform()} ${release()}`,
    node: process.version,
    sdk: version,
    server: `dev server ${serverVersion}, in memory, transferProcessorMaxPollRPS=5000, eager activities`,
    codec: 'none',
    modelClient: 'openai package, streamed Chat Completions, both sides',
  };
}
