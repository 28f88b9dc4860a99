import type { LonghaulClient } from '../../../src/client/index.ts';
import type { RunResult } from '../../../src/core/domain/result.ts';
import type { Event } from '../../../src/core/domain/record.ts';
import { errorMessage } from '../../../src/core/domain/errors.ts';
import { type Answer, answerCounts, refusedWith, type SentDecision } from './answers.ts';
import { approvalChecks, type DecidedRun } from './approvals-checks.ts';
import { atOnce } from '../../processes/at-once.ts';
import { readEffects } from '../processes/ledger.ts';
import type { Outcome } from '../outcome.ts';
import { agentOf } from '../processes/storm-agents.ts';
import type { StormTestbed } from '../processes/storm-testbed.ts';
import { secondsSince, timings } from '../../processes/timings.ts';

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
