import type { LonghaulClient, RunHandle } from '../../../src/client/index.ts';
import type { Event } from '../../../src/core/domain/record.ts';
import { errorMessage } from '../../../src/core/domain/errors.ts';
import type { Outcome } from '../outcome.ts';
import { busyChecks } from './busy-checks.ts';
import { fillExecution, type FilledExecution } from './fill-execution.ts';
import { messagesChecks, type MessagesRecord } from './messages-checks.ts';
import { readEffects } from '../processes/ledger.ts';
import { decidePayments, type DecidedPayments } from './payments.ts';
import { inBursts } from '../processes/storm-agents.ts';
import type { StormTestbed } from '../processes/storm-testbed.ts';
import { STOP, type TalkerInput } from '../processes/storm-model.ts';
import { secondsSince, timings } from '../../processes/timings.ts';

/** The number of clients that send messages, each on a separate connection: more than the server allows in flight. */
const CLIENTS = 20;
/** One in this many messages of a client is sent twice at the same time. */
const TWICE = 10;
/** One in this many messages and decisions is a decision. */
const DECISIONS = 10;
/** Calls of one response that wait for a decision. */
const TOGETHER = 4;
const TOGETHER_WHILE_BUSY = 50;
/** Milliseconds that a client spends on one message. */
const PATIENCE_MS = 400_000;
/** The number of Updates that the server allows an execution. */
const UPDATES_OF_AN_EXECUTION = 2_000;

/** The options of this part. */
export interface MessagesOptions {
  /** Number of messages and decisions together. */
  messages: number;
  /** Milliseconds of a tool call meanwhile; 0: no call. */
  workMs: number;
}

/** One run receives messages and decisions of many clients, more than the server allows one execution. */
export async function messagesStorm(testbed: StormTestbed, { messages, workMs }: MessagesOptions): Promise<Outcome> {
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => testbed.connect()));
  const deciders = await Promise.all([testbed.connect(), testbed.connect()]);
  const payments = Math.floor(messages / DECISIONS);
  const sent = textsOf(messages - payments);
  const input: TalkerInput = { payments, together: workMs > 0 ? TOGETHER_WHILE_BUSY : TOGETHER, workMs };
  const start = performance.now();
  const run = await deciders[0].start(workMs > 0 ? 'talker' : inBursts('talker'), {
    runId: `${testbed.taskQueue}-run`,
    input: JSON.stringify(input),
    taskQueue: testbed.taskQueue,
  });

  const filled = workMs > 0 ? await fillWhileBusy(testbed, deciders, run, workMs) : undefined;
  const sending = Promise.all(sent.map((texts, index) => sendAll(clients.at(index), clients.at(index - 1), { runId: run.runId, texts })));
  const deciding = decidePayments(deciders, run.runId, payments, PATIENCE_MS);
  const told = (await sending).flat();
  const secondsToSend = secondsSince(start);
  testbed.say(`${told.length} receipts of messages within ${secondsToSend} s`);
  const decided = await deciding;
  testbed.say(`${decided.verdicts.size} payments decided within ${secondsSince(start)} s`);
  const record = await readRecord(testbed, run, { sent, decided, errors: errorsOf(told), filled });
  const seconds = secondsSince(start);
  const checks = [...messagesChecks(record), ...(filled === undefined ? [] : busyChecks(record, filled))];
  const figures = {
    messages: sent.flat().length,
    decisions: payments,
    clients: CLIENTS,
    ...(filled === undefined ? {} : { workSeconds: workMs / 1_000, updatesBeforeBusy: filled.accepted }),
    secondsToSend,
    seconds,
    perSecond: Math.round(messages / secondsToSend),
    executions: record.executions,
    events: record.events.length,
    msMessage: timings(told.map(({ ms }) => ms)),
    msDecision: timings(decided.ms),
  };
  return { checks, figures };
}

/** The messages of every client. */
function textsOf(messages: number): string[][] {
  return Array.from({ length: CLIENTS }, (_, client) =>
    Array.from({ length: Math.ceil((messages - client) / CLIENTS) }, (__, index) => `c${client}-${index}`),
  );
}

/** The answer to a message. */
interface Told {
  ms: number;
  error?: string;
}

/** Sends one message after the other, some of them also from another connection at the same time. */
async function sendAll(
  own: LonghaulClient | undefined,
  other: LonghaulClient | undefined,
  { runId, texts }: { runId: string; texts: readonly string[] },
): Promise<Told[]> {
  const told: Told[] = [];
  for (const [index, text] of texts.entries()) {
    const senders = index % TWICE === 0 ? [own, other] : [own];
    told.push(...(await Promise.all(senders.map((client) => sendOne(client?.handle(runId), text)))));
  }
  return told;
}

async function sendOne(run: RunHandle | undefined, text: string): Promise<Told> {
  const start = performance.now();
  try {
    await run?.send(text, { id: text, timeout: PATIENCE_MS });
    return { ms: performance.now() - start };
  } catch (error) {
    return { ms: performance.now() - start, error: `message "${text}": ${errorMessage(error)}` };
  }
}

function errorsOf(told: readonly Told[]): string[] {
  return told.flatMap(({ error }) => (error === undefined ? [] : [error]));
}

/** Uses up the Updates of the execution during a tool call, so that the run cannot continue as new. */
async function fillWhileBusy(
  testbed: StormTestbed,
  clients: readonly LonghaulClient[],
  run: RunHandle,
  workMs: number,
): Promise<FilledExecution> {
  const untilMs = Date.now() + workMs;
  while ((await run.status()).waitingFor.length === 0 && Date.now() < untilMs) await new Promise((resolve) => setTimeout(resolve, 50));
  const filled = await fillExecution(clients, run.runId, untilMs);
  testbed.say(`the execution takes no more after ${filled.accepted} Updates that change nothing: ${filled.refusal ?? 'it never said so'}`);
  return filled;
}

/** The requests and the answers. */
interface SentMessages {
  sent: string[][];
  decided: DecidedPayments;
  errors: string[];
  filled: FilledExecution | undefined;
}

/** Ends the run and reads its record, with a worker and without. */
async function readRecord(testbed: StormTestbed, run: RunHandle, { sent, decided, errors, filled }: SentMessages): Promise<MessagesRecord> {
  const { runId } = run;
  const stopped = await sendOne(run, STOP);
  let status = 'unknown';
  let executions = 0;
  let events: Event[] = [];
  let recorded: Event[] = [];
  const updates = sent.flat().length + decided.verdicts.size + (filled?.accepted ?? 0);
  const leastExecutions = Math.ceil(updates / UPDATES_OF_AN_EXECUTION);
  try {
    const result = await run.result({ timeout: PATIENCE_MS });
    status = result.error === null ? result.status : `${result.status}: ${result.error}`;
    executions = (await run.status()).executions;
    events = await Array.fromAsync(run.events());
    await testbed.worker.stop();
    recorded = await Array.fromAsync(run.events());
  } catch (error) {
    status = `${status}, ${errorMessage(error)}`;
  }
  const effects = readEffects(testbed.ledger);
  const allErrors = [...errors, ...decided.errors, ...errorsOf([stopped])];
  return { runId, sent, verdicts: decided.verdicts, errors: allErrors, status, executions, leastExecutions, events, recorded, effects };
}
