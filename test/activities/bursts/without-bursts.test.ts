import { expect, test } from 'vitest';
import { createRuntime } from '../../../activities/create-runtime.ts';
import { openai } from '../../../activities/models/openai/openai.ts';
import { agentTool, defineAgent } from '../../../src/index.ts';
import { memoryStreams } from '../../../src/streams/memory-streams.ts';
import type { StreamSink } from '../../../src/streams/stream-sink.ts';
import { scriptedModel } from '../../../src/testing/index.ts';

const helper = defineAgent({ name: 'helper', model: 'scripted/m', burst: true });
const reader = defineAgent({ name: 'reader', model: 'scripted/m', burst: { steps: 4 }, tools: [agentTool(helper)] });
const plain = defineAgent({ name: 'plain', model: 'scripted/m' });
const batched = defineAgent({ name: 'batched', model: 'openai/gpt-5', burst: true, tier: 'batch' });

/** Returns what the log of a worker says when it starts. */
function saidAtStart(streams?: StreamSink): string[] {
  const lines: string[] = [];
  createRuntime(
    {
      agents: [reader, plain, batched],
      providers: { scripted: scriptedModel([]), openai: openai({ apiKey: 'key' }) },
      batch: { openai: {} },
      ...(streams === undefined ? {} : { streams }),
    },
    {
      log: (line) => lines.push(line),
      searchAttributes: () => Promise.resolve({ agentAndStatus: false, waitingFor: false }),
      upgradeOnContinueAsNew: false,
    },
  );
  return lines;
}

test('a worker with a sink of streams says when it starts which agents make no bursts, and what to change', () => {
  expect(
    saidAtStart(memoryStreams()).map((line) => /^Agent "(\w+)" makes no bursts on this worker, .*"streams".*"burst"/.exec(line)?.[1]),
  ).toEqual(['reader', 'helper']);
  expect(saidAtStart()).toEqual([]);
});
