import type { LonghaulClient } from '../../src/client/index.ts';
import type { RunResult } from '../../src/core/domain/result.ts';
import type { Event } from '../../src/core/domain/record.ts';
import { errorMessage, LonghaulError } from '../../src/core/domain/errors.ts';
import { atOnce } from '../processes/at-once.ts';
import { readEffects, callOf, type Effect, effectProblems } from './processes/ledger.ts';
import type { Outcome, StormTestbed } from './processes/storm-testbed.ts';
import { agentOf } from './processes/storm-agents.ts';
import { secondsSince, timings } from '../processes/timings.ts';
import type { Decision } from '../../src/core/domain/approvals.ts';
import type { DecisionReceipt } from '../../src/core/protocol.ts';
import { type Check, unless } from '../processes/command.ts';

/** The number of clients that decide, each on a separate connection. */
const CLIENTS = 20;
/** The number of times that the same decision is sent. */
const EQUAL = 3;
/** Fractions of all answers after which the worker is killed. */
const KILLS_AT = [0.25, 0.6];
/** Milliseconds that a client spends on one decision, or waits for one run. */
const PATIENCE_MS = 300_000;
const READERS = 8;

/**
 * This many runs wait for approval at the same time. Many clients decide all of them at once, each decision several times and its
 * opposite once, while the worker is killed and restarted.
 */
export async function approvalsStorm(testbed: StormTestbed, runs: number): Promise<Outcome> {
  const start = performance.now();
  const client = await testbed.connect();
  const runIds = Array.from({ length: runs }, (_, number) => `payer-${number}`);
  await atOnce(runIds, CLIENTS, (runId, number) =>
    client.start(agentOf('payer', number), { runId, input: String(number), taskQueue: testbed.taskQueue }),
  );
  const waiting = await allWaiting(client, runs);
  const secondsToWait = secondsSince(start);
  testbed.say(`${waiting.length} of ${runs} runs wait at once after ${secondsToWait} s`);

  const deciding = performance.now();
  const answers = await decideAll(testbed, waiting);
  const secondsToDecide = secondsSince(deciding);
  testbed.say(`${answers.length} answers within ${secondsToDecide} s, ${testbed.worker.kills} kills`);

  const decided = await atOnce(runIds, READERS, (runId) => readDecided(client, runId));
  const effects = readEffects(testbed.ledger);
  const checks = approvalChecks({ runs: decided, answers, effects, waited: waiting.length });
  const figures = {
    runs,
    clients: CLIENTS,
    decisionsSent: answers.length,
    kills: testbed.worker.kills,
    secondsToWait,
    secondsToDecide,
    seconds: secondsSince(start),
    msAnswer: timings(answers.map(({ ms }) => ms)),
    answers: answerCounts(answers),
    effects: new Set(effects.map(({ key }) => key)).size,
    attempts: effects.length,
  };
  return { checks, figures };
}

/** The pending approvals of all runs, once all of them wait. */
async function allWaiting(client: LonghaulClient, runs: number): Promise<Omit<SentDecision, 'id' | 'type'>[]> {
  const deadline = Date.now() + PATIENCE_MS;
  const count = async (): Promise<number> =>
    (await client.temporal.workflow.count(`LonghaulWaitingFor = 'pay' AND ExecutionStatus = 'Running'`)).count;
  while ((await count()) < runs && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 100));
  const waiting: Omit<SentDecision, 'id' | 'type'>[] = [];
  for await (const { runId, callId, digest } of client.approvals({ tool: 'pay' })) waiting.push({ runId, callId, digest });
  return waiting;
}

/** Every client sends its share of the decisions in order; decisions on one run are sent at about the same time. */
async function decideAll(testbed: StormTestbed, waiting: Omit<SentDecision, 'id' | 'type'>[]): Promise<Answer[]> {
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => testbed.connect()));
  const queues = clients.map((): SentDecision[] => []);
  for (const [place, call] of waiting.entries()) {
    for (const [index, decision] of decisionsOn(call, place).entries()) queues[(place + index) % CLIENTS]?.push(decision);
  }
  const total = waiting.length * (EQUAL + 1);
  const killAt = KILLS_AT.map((part) => Math.floor(total * part));
  const answers: Answer[] = [];
  let restarts = Promise.resolve();
  await Promise.all(
    queues.map(async (queue, index) => {
      for (const sent of queue) {
        answers.push(await decide(clients[index], sent));
        // The kills come in sequence, each after the worker has started.
        if (killAt.includes(answers.length)) restarts = restarts.then(() => testbed.worker.killAndStart());
      }
    }),
  );
  await restarts;
  return answers;
}

/** The same decision several times, and the opposite once, at changing positions. */
function decisionsOn(call: Omit<SentDecision, 'id' | 'type'>, index: number): SentDecision[] {
  const [type, opposite] = index % 2 === 0 ? (['approve', 'reject'] as const) : (['reject', 'approve'] as const);
  const decisions = Array.from({ length: EQUAL }, (): SentDecision => ({ ...call, type, id: `ann-${index}` }));
  return decisions.toSpliced(index % (EQUAL + 1), 0, { ...call, type: opposite, id: `bob-${index}` });
}

async function decide(client: LonghaulClient | undefined, sent: SentDecision): Promise<Answer> {
  const { runId, type, id } = sent;
  const start = performance.now();
  const options = { id, by: id, timeout: PATIENCE_MS };
  try {
    const run = client?.handle(runId);
    const receipt = await (type === 'approve' ? run?.approve(sent, options) : run?.reject(sent, options));
    if (receipt === undefined) throw new Error('There is no such client');
    return { sent, ms: performance.now() - start, outcome: { type: 'receipt', receipt } };
  } catch (error) {
    return { sent, ms: performance.now() - start, outcome: refusedWith(error) };
  }
}

/** The status of a run, and the decisions in its record. */
async function readDecided(client: LonghaulClient, runId: string): Promise<DecidedRun> {
  const run = client.handle(runId);
  let result: RunResult<unknown>;
  let events: Event[];
  try {
    result = await run.result({ timeout: PATIENCE_MS });
    events = await Array.fromAsync(run.events());
  } catch (error) {
    return { runId, status: errorMessage(error), output: '', decisions: [] };
  }
  const decisions = events.flatMap(({ decision }) => (decision === undefined ? [] : [decision]));
  return { runId, status: result.status, output: result.outputText, decisions };
}

/** A decision of a client. */
interface SentDecision {
  runId: string;
  callId: string;
  digest: string;
  type: 'approve' | 'reject';
  id: string;
}

/** The answer that a client got. */
export interface Answer {
  sent: SentDecision;
  /** Milliseconds until the answer, repeated requests included. */
  ms: number;
  outcome: { type: 'receipt'; receipt: DecisionReceipt } | { type: 'refused'; code: string; message: string };
}

/** The code and message of an error for the client. */
function refusedWith(error: unknown): Answer['outcome'] {
  const code = error instanceof LonghaulError ? error.code : 'no code';
  // Only the cause of an SDK failure says what has happened.
  const cause = error instanceof Error && error.cause !== undefined ? ` (${errorMessage(error.cause)})` : '';
  return { type: 'refused', code, message: `${errorMessage(error)}${cause}` };
}

/** The reason why the answer is not true, compared with the decision in the run's record; undefined if it is true. */
function untruth({ sent, outcome }: Answer, winner: Decision): string | undefined {
  const who = `decision "${sent.id}" (${sent.type}) on run "${sent.runId}"`;
  const won = `"${winner.id}" (${winner.type})`;
  const hasWon = sent.id === winner.id;
  if (outcome.type === 'receipt') {
    const { id, type } = outcome.receipt.decision;
    return hasWon && id === winner.id && type === winner.type
      ? undefined
      : `${who} was told that "${id}" (${type}) counts, where ${won} does`;
  }
  const { code, message } = outcome;
  if (hasWon || code !== 'already_decided') return `${who} was refused with ${code}: ${message}`;
  const verb = { approve: 'approved', reject: 'rejected', respond: 'answered' }[winner.type];
  const isNamed = message.includes(`"${winner.id}"`) && message.includes(verb) && message.includes(winner.at);
  return isNamed ? undefined : `${who} was not told that ${won} counts, but: ${message}`;
}

/** The number of answers of each kind, for the figures. */
function answerCounts(answers: readonly Answer[]): Record<string, number> {
  const kinds = answers.map(({ outcome }) => (outcome.type === 'receipt' ? outcome.receipt.status : outcome.code));
  const names = [...new Set(kinds)].toSorted();
  return Object.fromEntries(names.map((name) => [name, kinds.filter((kind) => kind === name).length]));
}

/** A decided run, according to its record. */
interface DecidedRun {
  runId: string;
  /** Its status, or the reason why it has no status. */
  status: string;
  output: string;
  decisions: Decision[];
}

/** All data after the storm. */
export interface ApprovalsRecord {
  runs: DecidedRun[];
  answers: Answer[];
  effects: Effect[];
  /** The number of runs that waited at the same time. */
  waited: number;
}

/** The checks. The number of a run's only payment is in its id. */
export function approvalChecks({ runs, answers, effects, waited }: ApprovalsRecord): Check[] {
  const winners = new Map(runs.flatMap(({ runId, decisions: [winner] }) => (winner === undefined ? [] : [[runId, winner] as const])));
  const approved = runs.map(({ runId }) => [callOf({ runId, number: numberOf(runId) }), winners.get(runId)?.type === 'approve'] as const);
  return [
    { name: 'all runs wait at once', problems: unless(waited === runs.length, `${waited} of ${runs.length} runs waited`) },
    {
      name: 'no run is lost: all complete',
      problems: runs.flatMap(({ runId, status }) => unless(status === 'completed', `run "${runId}": ${status}`)),
    },
    {
      name: 'each run sees exactly one decision',
      problems: runs.flatMap(({ runId, decisions }) =>
        unless(decisions.length === 1, `run "${runId}" has ${decisions.length}: ${decisions.map(({ id }) => id).join(', ')}`),
      ),
    },
    {
      name: 'the model reads the decision',
      problems: runs.flatMap((run) => unless(run.output === expectedOutput(run), `run "${run.runId}" answered "${run.output}"`)),
    },
    { name: 'an approved call takes effect once, a rejected call never', problems: effectProblems(effects, new Map(approved)) },
    { name: 'every client gets a truthful answer', problems: answers.flatMap((answer) => answerProblem(answer, winners)) },
  ];
}

function answerProblem(answer: Answer, winners: ReadonlyMap<string, Decision>): string[] {
  const winner = winners.get(answer.sent.runId);
  const problem = winner === undefined ? `run "${answer.sent.runId}" has no decision` : untruth(answer, winner);
  return problem === undefined ? [] : [problem];
}

function numberOf(runId: string): number {
  return Number(runId.split('-').at(-1));
}

function expectedOutput({ runId, decisions: [winner] }: DecidedRun): string {
  return winner?.type === 'approve' ? `paid ${numberOf(runId)}` : 'User denied the tool execution.';
}
