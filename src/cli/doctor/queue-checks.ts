import { SEARCH_ATTRIBUTES } from '../../core/protocol.ts';
import { counted } from '../../core/domain/text.ts';
import { type CheckGroup, type Finding, ok, skipped, warn } from './check.ts';
import { type Examination, PREREQUISITE_MS } from './examination.ts';
import { withNamespace } from './server-checks.ts';
import type { AnsweringServer } from './server-state.ts';

export const QUEUE_CHECKS: CheckGroup = {
  heading: 'Task queue',
  checks: [
    { name: 'pollers', run: (examination) => withQueue(examination, checkPollers) },
    { name: 'builds', run: (examination) => withQueue(examination, checkBuilds) },
    { name: 'backlog', run: (examination) => withQueue(examination, checkBacklog) },
    { name: 'known-agents', run: checkKnownAgents },
  ],
};

type QueueAnswer = Awaited<ReturnType<AnsweringServer['connection']['workflowService']['describeTaskQueue']>>;

/** The task queue as the server describes it: one answer for all checks of an examination. */
const answers = new WeakMap<AnsweringServer, Promise<QueueAnswer | undefined>>();

const WORKFLOW_TASKS = 1;

function describeQueue(server: AnsweringServer): Promise<QueueAnswer | undefined> {
  const { connection, namespace, taskQueue } = server;
  const known = answers.get(server);
  if (known !== undefined) return known;
  const request = { namespace, taskQueue: { name: taskQueue }, taskQueueType: WORKFLOW_TASKS, reportStats: true };
  const answer = connection
    .withDeadline(Date.now() + PREREQUISITE_MS, () => connection.workflowService.describeTaskQueue(request))
    .catch(() => undefined);
  answers.set(server, answer);
  return answer;
}

async function withQueue(examination: Examination, check: (queue: QueueAnswer, server: AnsweringServer) => Finding): Promise<Finding> {
  return withNamespace(examination, async (server) => {
    const queue = await describeQueue(server);
    return queue === undefined ? skipped(`The server does not describe the task queue "${server.taskQueue}".`) : check(queue, server);
  });
}

function checkPollers({ pollers }: QueueAnswer, { taskQueue }: AnsweringServer): Finding {
  const count = pollers?.length ?? 0;
  if (count > 0) return ok(`${counted(count, 'worker')} polled the task queue "${taskQueue}" within the last minutes.`);
  return warn(
    `No worker polls the task queue "${taskQueue}": runs that are started wait until one does.`,
    'longhaul dev --agents ./agents.ts',
  );
}

function checkBuilds({ pollers, versioningInfo }: QueueAnswer, { taskQueue, namespace }: AnsweringServer): Finding {
  const builds = [
    ...new Map(
      (pollers ?? []).flatMap(({ deploymentOptions: one }) =>
        one?.buildId && one.deploymentName ? [[`${one.deploymentName} ${one.buildId}`, one] as const] : [],
      ),
    ).values(),
  ];
  const [first] = builds;
  if (first === undefined) return skipped('The workers of the task queue are not tied to builds.');
  const current = versioningInfo?.currentDeploymentVersion;
  const shown = builds.map((one) => `"${one.buildId}" of "${one.deploymentName}"`).join(', ');
  if (current?.buildId) return ok(`The current build is "${current.buildId}" of "${current.deploymentName}"; workers have ${shown}.`);
  return warn(
    `Workers of the task queue "${taskQueue}" have the build ${shown}, and none is current: new runs wait.`,
    `temporal worker deployment set-current-version --namespace ${namespace} --deployment-name ${first.deploymentName} --build-id ${first.buildId}`,
  );
}

/** Tasks that have waited longer are a sign of too few workers. */
const OLD_SECONDS = 30;

function checkBacklog({ stats }: QueueAnswer, { taskQueue }: AnsweringServer): Finding {
  if (!stats) return skipped('The server does not say how many tasks wait.');
  const count = Number(stats.approximateBacklogCount ?? 0);
  const age = Number(stats.approximateBacklogAge?.seconds ?? 0);
  if (age < OLD_SECONDS) return ok(`${counted(count, 'workflow task')} in the task queue "${taskQueue}", the oldest for ${age} s.`);
  return warn(
    `${counted(count, 'workflow task')} in the task queue "${taskQueue}", the oldest for ${age} s: there are too few workers.`,
    'longhaul worker --agents ./agents.ts',
  );
}

/** The newest open runs that are looked at. */
const LOOKED_AT = 200;

/** Open runs of agents that the module does not have wait for a worker that has them. */
async function checkKnownAgents(examination: Examination): Promise<Finding> {
  return withNamespace(examination, async ({ connection, namespace, taskQueue }) => {
    const query = `ExecutionStatus = 'Running' AND TaskQueue = '${taskQueue.replaceAll("'", "''")}' AND ${SEARCH_ATTRIBUTES.agent} IS NOT NULL`;
    let names: string[];
    try {
      const { executions } = await connection.withDeadline(Date.now() + PREREQUISITE_MS, () =>
        connection.workflowService.listWorkflowExecutions({ namespace, query, pageSize: LOOKED_AT }),
      );
      names = [
        ...new Set((executions ?? []).flatMap((one) => textOf(one.searchAttributes?.indexedFields?.[SEARCH_ATTRIBUTES.agent]?.data) ?? [])),
      ].toSorted();
    } catch {
      return skipped('The server cannot list the open runs of the task queue by their agents.');
    }
    if (names.length === 0) return skipped(`No open run of the task queue "${taskQueue}" has begun.`);
    const agents = await examination.agents;
    if (agents.state !== 'loaded') return ok(`Open runs of the task queue "${taskQueue}" are of ${names.join(', ')}.`);
    const own = [...agents.module.agents, ...agents.module.programs].map(({ name }) => name);
    const unknown = names.filter((name) => !own.includes(name));
    if (unknown.length === 0) return ok(`The module has all agents of which runs are open: ${names.join(', ')}.`);
    return warn(
      `Runs of ${unknown.join(', ')} are open in the task queue "${taskQueue}", and the agents module does not have them.`,
      'longhaul list --status running',
    );
  });
}

/** Returns a search attribute, which is never encoded. */
function textOf(data: Uint8Array | null | undefined): string | undefined {
  const value: unknown = data ? JSON.parse(Buffer.from(data).toString('utf8')) : undefined;
  return typeof value === 'string' ? value : undefined;
}
