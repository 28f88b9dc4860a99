import { setTimeout as delay } from 'node:timers/promises';
import { errorMessage } from '../../core/domain/errors.ts';
import { counted, shellQuoted } from '../../core/domain/text.ts';
import { SEARCH_ATTRIBUTE_TYPES, SEARCH_ATTRIBUTES } from '../../core/protocol.ts';
import { GRPC, grpcCode } from '../../temporal/server-calls.ts';
import { findUi } from '../command.ts';
import {
  type AnsweringServer,
  type CheckGroup,
  type Examination,
  fail,
  type Finding,
  type Fix,
  ok,
  PREREQUISITE_MS,
  skipped,
  warn,
} from './examination.ts';

export const SERVER_CHECKS: CheckGroup = {
  heading: 'Temporal server',
  checks: [
    { name: 'server', run: checkServer },
    { name: 'namespace', run: checkNamespace },
    { name: 'retention', run: checkRetention },
    { name: 'rights', run: checkRights },
    { name: 'search-attributes', run: checkSearchAttributes },
    { name: 'clock', run: checkClock },
  ],
};

/** The oldest server that has what runs need: Updates, and the statistics of task queues. */
const OLDEST_SERVER = [1, 29] as const;

async function checkServer({ server }: Examination): Promise<Finding> {
  const state = await server;
  if (state.state === 'misconfigured')
    return fail(`The configuration of the Temporal server cannot be read: ${state.reason}`, 'temporal config list');
  if (state.state === 'down') return fail(state.reason.replace(/: start one.*/, '.'), 'longhaul dev');
  const { address, version } = state;
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isOld = major < OLDEST_SERVER[0] || (major === OLDEST_SERVER[0] && minor < OLDEST_SERVER[1]);
  if (/^\d/.test(version) && isOld) {
    return warn(
      `The Temporal server at ${address} is ${version}, and Longhaul is tested with ${OLDEST_SERVER.join('.')} and newer.`,
      'longhaul dev',
    );
  }
  return ok(`Temporal ${version} answers at ${address}.`);
}

/** Returns a Temporal CLI command for the examined server and namespace, which may differ from the CLI's defaults. */
function temporalCommand(words: string, { address, namespace }: { address: string; namespace: string }): string {
  return `temporal ${words} --address ${shellQuoted(address)} --namespace ${shellQuoted(namespace)}`;
}

/** Runs a check of a namespace; it is skipped without one. */
/** Runs a check that needs the namespace of an answering server. */
export async function withNamespace(examination: Examination, check: (server: AnsweringServer) => Promise<Finding>): Promise<Finding> {
  const server = await examination.server;
  if (server.state !== 'up') return skipped('No server answers.');
  const described = await server.described;
  if (described.state !== 'found') return skipped(`The namespace "${server.namespace}" cannot be used.`);
  return check(server);
}

async function checkNamespace({ server }: Examination): Promise<Finding> {
  const state = await server;
  if (state.state !== 'up') return skipped('No server answers.');
  const { namespace } = state;
  const described = await state.described;
  switch (described.state) {
    case 'found':
      return ok(`The namespace "${namespace}" exists.`);
    case 'missing':
      return fail(`The server has no namespace "${namespace}".`, temporalCommand('operator namespace create', state));
    case 'refused':
      return fail(`The credentials may not read the namespace "${namespace}" (${described.reason}).`, 'temporal config list');
    case 'failed':
      return fail(
        `The namespace "${namespace}" cannot be read: ${described.reason}`,
        temporalCommand('operator namespace describe', state),
      );
  }
}

/** Checks the retention: how long ended runs can be read from the server. */
async function checkRetention(examination: Examination): Promise<Finding> {
  return withNamespace(examination, async (server) => {
    const found = await server.described;
    const days = found.state === 'found' ? found.retentionDays : undefined;
    if (days === undefined) return skipped('The server does not say how long it keeps runs.');
    const shown = days >= 1 ? `${Math.round(days)} d` : `${Math.round(days * 24)} h`;
    if (days >= 1) return ok(`Runs are kept for ${shown} after their end.`);
    return warn(
      `Runs are kept for ${shown} after their end: without an archive, their records are gone then.`,
      temporalCommand('operator namespace update --retention 72h', server),
    );
  });
}

/** An id that no run has. */
const NOBODY = 'longhaul-doctor-asks-for-rights';

async function checkRights(examination: Examination): Promise<Finding> {
  return withNamespace(examination, async ({ connection, namespace }) => {
    const { workflowService } = connection;
    const tries: readonly (readonly [right: string, attempt: () => Promise<unknown>])[] = [
      ['list runs', () => workflowService.countWorkflowExecutions({ namespace, query: '' })],
      ['read task queues', () => workflowService.describeTaskQueue({ namespace, taskQueue: { name: NOBODY }, taskQueueType: 1 })],
      // Nothing has this id, so nothing happens: but a caller that may not write is refused before the server looks for it.
      [
        'send to runs',
        () => workflowService.signalWorkflowExecution({ namespace, workflowExecution: { workflowId: NOBODY }, signalName: NOBODY }),
      ],
    ];
    const tried = await Promise.all(tries.map(async ([right, attempt]) => ({ right, answer: await answerTo(connection, attempt) })));
    const rightsWith = (which: RightsAnswer): string[] => tried.filter(({ answer }) => answer === which).map(({ right }) => right);
    const lacking = rightsWith('refused');
    const unknown = rightsWith('none');
    if (lacking.length > 0)
      return fail(`The credentials may not ${lacking.join(', ')} in the namespace "${namespace}".`, 'temporal config list');
    if (unknown.length > 0) return skipped(`The server does not say if the credentials may ${unknown.join(', ')}: it gives no answer.`);
    return ok('The credentials may list runs, read task queues and send to runs.');
  });
}

type RightsAnswer = 'allowed' | 'refused' | 'none';

/** gRPC codes of a server that has not handled the call: cancelled, deadline exceeded, resource exhausted, unavailable. */
const NO_ANSWER: readonly (number | undefined)[] = [undefined, 1, 4, 8, 14];

async function answerTo(connection: AnsweringServer['connection'], attempt: () => Promise<unknown>): Promise<RightsAnswer> {
  try {
    await connection.withDeadline(Date.now() + PREREQUISITE_MS, attempt);
    return 'allowed';
  } catch (error) {
    const code = grpcCode(error);
    if (code === GRPC.notAllowed || code === GRPC.unauthenticated) return 'refused';
    return NO_ANSWER.includes(code) ? 'none' : 'allowed';
  }
}

/** The server's numbers for the types, as in `worker/plugin.ts`. */
const TYPE_NUMBERS = { Keyword: 2, Datetime: 6, KeywordList: 7 } as const;

async function checkSearchAttributes(examination: Examination): Promise<Finding> {
  return withNamespace(examination, async (server) => {
    const { namespace } = server;
    let known: Record<string, unknown>;
    try {
      known = await listedAttributes(server);
    } catch (error) {
      const code = grpcCode(error);
      if (code === GRPC.notFound) {
        return warn(
          `Not every part of the server knows the namespace "${namespace}" yet, which takes some seconds after it was created.`,
          'longhaul doctor',
        );
      }
      if (code === GRPC.notAllowed || code === GRPC.unimplemented)
        return skipped('The server does not let clients list search attributes, as Temporal Cloud does not.');
      return warn(
        `The search attributes cannot be listed: ${errorMessage(error)}`,
        temporalCommand('operator search-attribute list', server),
      );
    }
    const wanted = Object.entries(SEARCH_ATTRIBUTE_TYPES);
    const wrong = wanted.filter(([name, type]) => known[name] !== undefined && known[name] !== TYPE_NUMBERS[type]);
    if (wrong.length > 0) {
      const names = wrong.map(([name, type]) => `${name} (must be ${type})`).join(', ');
      return fail(`Search attributes have another type: ${names}.`, `${removal(server, wrong)} && ${creation(server, wrong)}`);
    }
    const missing = wanted.filter(([name]) => known[name] === undefined);
    if (missing.length === 0) return ok(`The namespace has all ${wanted.length} search attributes of Longhaul.`);
    return fail(
      `The namespace lacks search attributes, without which lists and filters have no answer: ${missing.map(([name]) => name).join(', ')}.`,
      creation(server, missing),
      addition(server, missing),
    );
  });
}

/** The service that lists attributes refreshes namespaces every 2 seconds, and does not know newer ones. */
const NEW_NAMESPACE_MS = 2_200;
const PAUSE_MS = 200;

async function listedAttributes({ connection, namespace }: AnsweringServer): Promise<Record<string, unknown>> {
  const until = Date.now() + NEW_NAMESPACE_MS;
  for (;;) {
    try {
      const list = async (): Promise<Record<string, unknown>> =>
        (await connection.operatorService.listSearchAttributes({ namespace })).customAttributes ?? {};
      return await connection.withDeadline(Date.now() + PREREQUISITE_MS, list);
    } catch (error) {
      if (grpcCode(error) !== GRPC.notFound || Date.now() + PAUSE_MS > until) throw error;
      await delay(PAUSE_MS);
    }
  }
}

type Attribute = readonly [name: string, type: keyof typeof TYPE_NUMBERS];

/** The CLI reads names and types in pairs, and silently drops a name without a type. */
function creation(server: AnsweringServer, attributes: readonly Attribute[]): string {
  const pairs = attributes.map(([name, type]) => `--name ${name} --type ${type}`).join(' ');
  return temporalCommand(`operator search-attribute create ${pairs}`, server);
}

function removal(server: AnsweringServer, attributes: readonly Attribute[]): string {
  return temporalCommand(`operator search-attribute remove ${attributes.map(([name]) => `--name ${name}`).join(' ')}`, server);
}

function addition(server: AnsweringServer, missing: readonly Attribute[]): Fix {
  const { connection, namespace } = server;
  return {
    done: `Added the search attributes ${missing.map(([name]) => name).join(', ')} to the namespace "${namespace}".`,
    undo: removal(server, missing),
    apply: async () => {
      // One type at a time: a namespace may have room for one type and not for another.
      for (const [type, some] of Map.groupBy(missing, ([, one]) => one)) {
        const searchAttributes = Object.fromEntries(some.map(([name]) => [name, TYPE_NUMBERS[type]]));
        await connection.withDeadline(Date.now() + PREREQUISITE_MS, () =>
          connection.operatorService.addSearchAttributes({ namespace, searchAttributes }),
        );
      }
    },
  };
}

/** Deadlines and tokens use absolute times: clocks that differ by more than this make them wrong. */
const WARN_MS = 5_000;
const FAIL_MS = 60_000;

async function checkClock(examination: Examination): Promise<Finding> {
  const server = await examination.server;
  if (server.state !== 'up') return skipped('No server answers.');
  await server.described;
  const aheadMs = server.aheadMs() ?? (await aheadOfUi(examination, server));
  if (aheadMs === undefined) return skipped('No answer of the server has its time.');
  const seconds = Math.round(Math.abs(aheadMs) / 1000);
  if (Math.abs(aheadMs) < WARN_MS) return ok(`The clocks of the server and of this machine differ by ${seconds} s.`);
  const summary = `The clock of this machine is ${seconds} s ${aheadMs > 0 ? 'behind' : 'ahead of'} the server's: deadlines and tokens end at other times.`;
  return Math.abs(aheadMs) < FAIL_MS ? warn(summary, 'timedatectl set-ntp true') : fail(summary, 'timedatectl set-ntp true');
}

/** The UI of the server answers over HTTP, with its time. */
async function aheadOfUi({ machine }: Examination, { address, namespace }: AnsweringServer): Promise<number | undefined> {
  const ui = await findUi({ address, namespace }, machine.env);
  if (ui === undefined) return undefined;
  try {
    const { headers } = await fetch(ui, { method: 'HEAD', signal: AbortSignal.timeout(500) });
    const time = Date.parse(headers.get('date') ?? '');
    return Number.isNaN(time) ? undefined : time - Date.now();
  } catch {
    return undefined;
  }
}

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
    'longhaul worker --agents ./agents.ts',
  );
}

function checkBuilds({ pollers, versioningInfo }: QueueAnswer, server: AnsweringServer): Finding {
  const { taskQueue } = server;
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
    temporalCommand(
      `worker deployment set-current-version --deployment-name ${shellQuoted(first.deploymentName ?? '')} --build-id ${shellQuoted(first.buildId ?? '')}`,
      server,
    ),
  );
}

/** Tasks that have waited longer are a sign of too few workers. */
const OLD_SECONDS = 30;

function checkBacklog(queue: QueueAnswer, server: AnsweringServer): Finding {
  const { stats, pollers } = queue;
  const { taskQueue } = server;
  if (!stats) return skipped('The server does not say how many tasks wait.');
  const count = Number(stats.approximateBacklogCount ?? 0);
  const age = Number(stats.approximateBacklogAge?.seconds ?? 0);
  if (age < OLD_SECONDS) return ok(`${counted(count, 'workflow task')} in the task queue "${taskQueue}", the oldest for ${age} s.`);
  const waits = `${counted(count, 'workflow task')} in the task queue "${taskQueue}", the oldest for ${age} s`;
  // More workers with a build that is not current would take none of these tasks.
  const builds = checkBuilds(queue, server);
  if (builds.status === 'warn') return { ...builds, summary: `${waits}: ${builds.summary}` };
  const why = (pollers?.length ?? 0) === 0 ? 'no worker polls it' : 'there are too few workers';
  return warn(`${waits}: ${why}.`, 'longhaul worker --agents ./agents.ts');
}

/** The number of newest open runs that are read. */
const LOOKED_AT = 200;

/** Checks for open runs of agents that the module lacks: they wait for a worker that has them. */
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
    if (names.length === 0) return skipped(`The task queue "${taskQueue}" has no open run.`);
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

/** Returns the text of a search attribute, which is never encoded. */
function textOf(data: Uint8Array | null | undefined): string | undefined {
  const value: unknown = data ? JSON.parse(Buffer.from(data).toString('utf8')) : undefined;
  return typeof value === 'string' ? value : undefined;
}
