import { z } from 'zod';
import type { LonghaulClient } from '../../../../src/client/index.ts';
import type { ModelClient } from '../../../../src/core/domain/model.ts';
import { ask, defineProgram, human, recall, remember, unit } from '../../../../src/define/program/index.ts';
import { agentTool, defineAgent, defineTool } from '../../../../src/index.ts';
import { runState } from '../../../../src/temporal/run-workflow.ts';
import { callTool, hang, say, scriptedModel } from '../../../../src/testing/index.ts';
import { until } from '../../testbed/testbed.ts';

const dump = defineTool({
  name: 'dump',
  description: 'Says much',
  parameters: z.object({ text: z.string() }),
  maxResultBytes: 2_000,
  overflow: 'spill',
  execute: ({ text }) => `${text} `.repeat(400),
});
const dumper = defineAgent({ name: 'dumper', model: 'dumping/m', tools: [dump] });
const friend = defineAgent({ name: 'friend', model: 'friendly/m', memory: true });
const helper = defineAgent({ name: 'helper', description: 'Helps', model: 'hanging/m' });
const chief = defineAgent({ name: 'chief', model: 'chief/m', tools: [agentTool(helper)] });
const listener = defineAgent({ name: 'listener', description: 'Listens', model: 'echo/m' });
const keeper = defineAgent({ name: 'keeper', model: 'keeper/m', tools: [agentTool(listener, { kept: true })] });

/** Steps whose outputs are needed to the end: over 1 MB, already before the second time that the program continues as new. */
const READS = ['A', 'B', 'C', 'D', 'E', 'F'];

/** A program with an entry of memory, and outputs that are over 1 MB together when it continues as new. */
const report = defineProgram({
  name: 'report',
  model: 'long/m',
  units: [
    unit('read', {}, [
      remember('Keep', 'report', '{{input.note}}'),
      ...READS.map((name) => ask(name, `${name} {{input.note}}`)),
      recall('Kept', 'report'),
    ]),
    unit('wait', {}, [human('Who', 'Who?')]),
    unit('write', {}, [ask('Last', [...READS, 'Kept'].map((name) => `{{read.${name}}}`).join(' '))]),
  ],
});

/** All that a worker needs for what users leave. */
export const parts = { agents: [dumper, friend, chief, helper, keeper, listener], programs: [report] };

/** A model that answers every request by the same script, made of the text of the request. */
function scriptedBy(script: (mark: string, results: number) => ReturnType<typeof say>): ModelClient & { asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    capabilities: { structuredOutput: true },
    call: (request, context) => {
      const text = JSON.stringify(request.conversation);
      asked.push(text);
      const results = text.split('"tool_result"').length - 1;
      return scriptedModel([script(/MARK-of-\w+/.exec(text)?.[0] ?? '', results)]).call(request, context);
    },
  };
}

/** The model of the agent with a memory, which stores what it reads. */
export const friendly = scriptedBy((mark, results) =>
  mark === '' || results > 0 ? say('Noted') : callTool('remember', { key: 'size', value: mark }),
);

/** The models of the agents and the program. */
export const models: Record<string, ModelClient> = {
  dumping: scriptedBy((mark, results) => (results < 2 ? callTool('dump', { text: mark }, `c${results}`) : say(mark))),
  friendly,
  chief: scriptedBy((mark) => callTool('helper', { request: mark })),
  keeper: scriptedBy((mark, results) => (results === 0 ? callTool('listener', { request: mark }) : say('Told'))),
  echo: scriptedBy((mark) => say(`I heard ${mark}`)),
  long: scriptedBy((mark) => say(`${mark} ${'x'.repeat(370_000)}`)),
  hanging: { capabilities: { structuredOutput: true }, call: (request, context) => scriptedModel([hang()]).call(request, context) },
};

/**
 * Leaves a text of a user in each place: runs that have ended and runs that are open, a run that the server has removed, sessions, a child,
 * a kept agent, a program, spilled results and outputs, an archive and a memory. Returns the ids of the runs that the server has, without
 * descendants.
 */
export async function leave(client: LonghaulClient, user: string): Promise<string[]> {
  // Ids of runs stay in queues of the server until its retention is over: they are not content.
  const mark = `MARK-of-${user}`;
  await client.run(dumper, { input: mark, runId: `dump-${user}`, deps: { note: mark }, tags: [mark] });
  await client.run(dumper, { input: mark, runId: `past-${user}` });
  const first = client.session(friend, { id: `talk-${user}`, title: mark });
  await first.ask(`I wear ${mark}`);
  await client.session(friend, { id: `ended-${user}` }).ask('Which size do I wear?');
  await client.session(friend, { id: `ended-${user}` }).close();
  // Its agent is a session that stays open as long as this one.
  await client.session(keeper, { id: `kept-${user}` }).ask(mark);
  const run = await client.start(chief, { input: mark, runId: `open-${user}` });
  await until(async () => ((await run.status()).children ?? []).length === 1, 'the child', 20);
  const program = await client.startProgram(report, { input: { note: mark }, runId: `report-${user}` });
  await until(async () => (await program.approvals()).pending.length > 0, 'the question of the program', 60);
  if (((await program.status()).executions ?? 1) < 2) throw new Error('The program has not continued as new: its outputs are not spilled');
  await removedByServer(client, `past-${user}`);
  return ['dump', 'ended', 'kept', 'open', 'report', 'talk'].map((name) => `${name}-${user}`);
}

/** Removes the executions of a run alone, as the server does when its retention is over. */
async function removedByServer({ temporal }: LonghaulClient, workflowId: string): Promise<void> {
  const { namespace } = temporal.options;
  for await (const { runId } of temporal.workflow.list({ query: `WorkflowId = "${workflowId}"` })) {
    await temporal.workflowService.deleteWorkflowExecution({ namespace, workflowExecution: { workflowId, runId } });
  }
  await until(async () => (await runState(temporal, workflowId)) === 'gone', `run "${workflowId}" to be removed`, 180);
}
