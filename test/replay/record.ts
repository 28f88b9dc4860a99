// Records the histories that the replay test replays: `npm run record-histories`. Run it when a released version
// changes what a run does, and keep the old files: they stand for the runs that are still going.
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { connect } from '../../src/client/index.ts';
import { startDevServer } from '../../src/dev-server/index.ts';
import { defineAgent } from '../../src/index.ts';
import { callTool, failWith, hang, say, scriptedModel, type ScriptEntry, structured, together } from '../../src/testing/index.ts';
import { createWorker } from '../../worker/index.ts';
import { assistant, broken, search } from '../server/agents.ts';
import { z } from 'zod';

Runtime.install({ logger: new DefaultLogger('ERROR') });

const sequential = defineAgent({ name: 'sequential', model: 'scripted/m', tools: [search, broken], parallel: false });
const typed = defineAgent({ name: 'typed', model: 'scripted/m', output: z.object({ answer: z.number() }), maxIterations: 5 });
const researcher = defineAgent({ name: 'researcher', model: 'scripted/m' });
const writer = defineAgent({ name: 'writer', model: 'scripted/m' });
const lastWords = defineAgent({ name: 'last_words', model: 'scripted/m', tools: [search], maxIterations: 1, finalAttempt: true });
const compacting = defineAgent({ name: 'compacting', model: 'scripted/m', tools: [search], window: { maxBytes: 6_000, keepResults: 1 } });
const agents = [assistant, sequential, typed, researcher, writer, lastWords, compacting];

const both = together(say('looking'), callTool('search', { query: 'a' }, 'c1'), callTool('broken', {}, 'c2'), callTool('nope', {}, 'c3'));

interface Scenario {
  agent: string;
  script: ScriptEntry[];
  workflowType?: string;
  cancel?: boolean;
  /** Events of history after which the run continues as new. */
  continueAt?: number;
  /** Messages that are sent while the model is asked for the first time. */
  messages?: string[];
}

const inSequence = together(
  callTool('search', { query: 'a' }, 'c1'),
  callTool('search', { query: 'b' }, 'c2'),
  callTool('search', { query: 'c' }, 'c3'),
);
const long = (text: string) => callTool('search', { query: text.repeat(1_500) });

const scenarios: Record<string, Scenario> = {
  'completed-with-parallel-tools': { agent: 'assistant', script: [both, say('done')] },
  'completed-with-tools-in-sequence': { agent: 'sequential', script: [both, say('done')] },
  'completed-with-structured-output': { agent: 'typed', script: [say('not json'), structured({ answer: 4 })] },
  'limit-with-final-attempt': { agent: 'last_words', script: [callTool('search', { query: 'a' }, 'c1'), say('the best I have')] },
  'failed-in-a-model-call': { agent: 'assistant', script: [callTool('search', { query: 'a' }, 'c1'), failWith('model_forbidden', 'no')] },
  'failed-with-an-unknown-agent': { agent: 'nobody', script: [] },
  'cancelled-in-a-model-call': { agent: 'assistant', script: [callTool('search', { query: 'a' }, 'c1'), hang('half')], cancel: true },
  'continued-after-every-step': {
    agent: 'assistant',
    script: [both, callTool('search', { query: 'b' }, 'c4'), say('done')],
    continueAt: 8,
  },
  'continued-among-calls': { agent: 'sequential', script: [inSequence, say('done')], continueAt: 8 },
  'compacted-and-summarised': {
    agent: 'compacting',
    script: [long('a'), long('b'), long('c'), long('d'), say('a summary'), say('done'), say('done'), say('done')],
  },
  'told-while-it-runs': { agent: 'assistant', script: [callTool('slow', {}, 'c1'), say('done'), say('done')], messages: ['one', 'two'] },
  'two-agents-in-a-workflow': { agent: 'researcher', script: [say('facts'), say('text')], workflowType: 'report' },
};

const root = fileURLToPath(new URL('../../', import.meta.url));
const server = await startDevServer({ say: (line) => console.error(line) });
const client = await connect(server);
const workflowsPath = fileURLToPath(new URL('../server/host-workflows.ts', import.meta.url));
for (const [name, { agent, script, workflowType, cancel, continueAt, messages }] of Object.entries(scenarios)) {
  const scripted = scriptedModel(script);
  const worker = await createWorker({
    ...server,
    taskQueue: name,
    agents,
    providers: { scripted },
    workflowsPath,
    shutdownGraceMs: 100,
    ...(continueAt === undefined ? {} : { continueAsNew: { events: continueAt } }),
  });
  const running = worker.run();
  const args = workflowType === undefined ? [{ agent, input: 'Q', deps: { user: 1 } }] : ['Q'];
  const handle = await client.temporal.workflow.start(workflowType ?? 'agentRun', { args, taskQueue: name, workflowId: name });
  if (cancel) {
    while (scripted.requests.length < script.length) await new Promise((resolve) => setTimeout(resolve, 20));
    await client.handle(name).cancel('recorded');
  }
  await handle.result().catch(() => undefined);
  // Stack traces name files: those of the machine that recorded are of no use to anybody else.
  const json = historyToJSON(await handle.fetchHistory()).replaceAll(root, '');
  await writeFile(new URL(`./histories/${name}.json`, import.meta.url), `${json}\n`);
  console.error(`recorded ${name}`);
  worker.shutdown();
  await running;
}
await client.close();
await server.stop();
