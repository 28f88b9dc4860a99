import type { ModelClient, ModelRequest } from '../../src/core/domain/model.ts';
import { uniqueText } from '../script/unique-text.ts';
import { now } from '../figures/machine.ts';
import { answerText, questionIn, EMPTY, talker } from '../session/questions.ts';
import { NativeConnection } from '@temporalio/worker';
import { createWorker } from '../../worker/index.ts';
import { EndlessClock } from '../endless/endless-clock.ts';
import { collectHeaps } from '../sides/measured-memory.ts';
import type { SessionReply, SessionRequest, SessionSetting } from '../endless/measured-worker.ts';
import { answerRequests, endAfter, readSetting, reply } from '../../test/processes/program.ts';
import { quietRuntime } from '../../test/processes/quiet-runtime.ts';

/** The length of a summary in characters. */
const SUMMARY_CHARS = 1_000;

/** Outside the seeds of questions, which count from 0. */
const FIRST_SEED = 1_000_000;

/** A model that answers the newest question with its id. */
interface EchoModel extends ModelClient {
  /** The time of each call by the id of its question, in milliseconds since the epoch. Summaries have no time. */
  readonly calledAt: Map<string, number>;
}

/** Makes a model for conversations of questions, which answers with `chars` characters. */
function echoModel(chars: number): EchoModel {
  const calledAt = new Map<string, number>();
  let seed = FIRST_SEED;
  return {
    capabilities: { structuredOutput: true },
    calledAt,
    call: (request) => {
      seed += 1;
      const id = questionIn(newestMessage(request));
      if (id !== undefined) calledAt.set(id, now());
      const content = id === undefined ? `Summary ${uniqueText(seed, SUMMARY_CHARS)}` : answerText(id, seed, chars);
      const usage = { promptTokens: 100, completionTokens: 20, totalTokens: 120 };
      return Promise.resolve({ content, toolCalls: [], usage, finishReason: 'stop' });
    },
  };
}

function newestMessage({ conversation }: ModelRequest): string {
  const item = conversation.at(-1)?.content.at(-1);
  return item?.type === 'message' && typeof item.content === 'string' ? item.content : '';
}

/** The worker of sessions, alone in its process: the memory of the process is the cost of the sessions. */

const { address, namespace, bundlePath, resultChars, cached } = readSetting<SessionSetting>();
quietRuntime();
const clock = new EndlessClock();
clock.sampled = (sample) => reply<SessionReply>({ type: 'sampled', ...sample });
const model = echoModel(resultChars);
const worker = await createWorker({
  agents: [talker],
  providers: { echo: model },
  connection: await NativeConnection.connect({ address }),
  namespace,
  shutdownGrace: 1_000,
  worker: {
    workflowBundle: { codePath: bundlePath },
    activities: { [EMPTY]: (id: string) => void model.calledAt.set(id, now()) },
    interceptors: { activity: [clock.interceptor] },
    ...(cached === undefined ? {} : { maxCachedWorkflows: cached }),
  },
});
const running = worker.run();
answerRequests<SessionRequest, SessionReply>({
  watch: ({ runId, steps }) => {
    clock.watch(runId, steps);
    return { type: 'watching' };
  },
  report: () => ({ type: 'report', ...clock.times() }),
  calls: () => {
    const calls = [...model.calledAt];
    model.calledAt.clear();
    return { type: 'calls', calls };
  },
  memory: async () => {
    await collectHeaps();
    return { type: 'memory', rss: process.memoryUsage.rss() };
  },
  stop: endAfter(() => {
    worker.shutdown();
    return running;
  }),
});
