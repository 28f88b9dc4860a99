import type { LonghaulClient, RunHandle, ListedApproval } from '../../src/client/index.ts';
import type { Event } from '../../src/core/domain/record.ts';
import { errorMessage } from '../../src/core/domain/errors.ts';
import type { Outcome, StormTestbed } from './processes/storm-testbed.ts';
import { readEffects, callOf, type Effect, effectProblems } from './processes/ledger.ts';
import { inBursts, STOP, type TalkerInput } from './processes/storm-agents.ts';
import { secondsSince, timings } from '../processes/timings.ts';
import { setTimeout as pause } from 'node:timers/promises';
import { atOnce } from '../processes/at-once.ts';
import type { Decision } from '../../src/core/domain/approvals.ts';
import { outputText } from '../../src/core/domain/content.ts';
import { type Check, unless } from '../processes/command.ts';

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
interface MessagesOptions {
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

/** The number of decisions in flight at the same time, each of them sent twice. */
const DECIDED_AT_ONCE = 10;
/** Milliseconds between two queries for pending approvals. */
const LOOK_EVERY_MS = 20;
/** One in this many payments is rejected. */
const REJECTED = 3;

/** The decisions on the payments of a run. */
interface DecidedPayments {
  verdicts: Map<number, 'approve' | 'reject'>;
  /** Milliseconds until each decision was answered. */
  ms: number[];
  errors: string[];
}

/** Decides on this many payments of a run: two clients send each decision, with the same id at the same time. */
async function decidePayments(
  deciders: readonly LonghaulClient[],
  runId: string,
  count: number,
  patienceMs: number,
): Promise<DecidedPayments> {
  const decided: DecidedPayments = { verdicts: new Map(), ms: [], errors: [] };
  const runs = deciders.map((client) => client.handle(runId));
  const deadline = Date.now() + patienceMs;
  while (decided.verdicts.size < count && Date.now() < deadline) {
    const waiting = await paymentsOf(runs[0], decided);
    await atOnce(waiting, DECIDED_AT_ONCE, async ({ waiting: one, number }) => {
      const type = number % REJECTED === 0 ? 'reject' : 'approve';
      decided.verdicts.set(number, type);
      const options = { id: `decision-${number}`, by: 'ann', timeout: patienceMs };
      await Promise.all(
        runs.map(async (run) => {
          const start = performance.now();
          try {
            await (type === 'approve' ? run.approve(one, options) : run.reject(one, options));
          } catch (error) {
            decided.errors.push(`decision on payment ${number}: ${errorMessage(error)}`);
          }
          decided.ms.push(performance.now() - start);
        }),
      );
    });
    await pause(LOOK_EVERY_MS);
  }
  if (decided.verdicts.size < count) decided.errors.push(`${decided.verdicts.size} of ${count} payments came to wait in time`);
  return decided;
}

/** The pending payments without a decision. */
async function paymentsOf(
  run: ReturnType<LonghaulClient['handle']> | undefined,
  { verdicts, errors }: DecidedPayments,
): Promise<{ waiting: ListedApproval; number: number }[]> {
  try {
    const pending = (await run?.approvals())?.pending ?? [];
    const payments = pending.map((waiting) => ({ waiting, number: Number(waiting.arguments['number']) }));
    return payments.filter(({ number }) => !verdicts.has(number));
  } catch (error) {
    errors.push(`asking what waits: ${errorMessage(error)}`);
    return [];
  }
}

/** More Updates than one execution accepts. */
const MOST_UPDATES = 2_000;
/** The time after which an unanswered Update counts as refused. */
const REFUSED_AFTER_MS = 3_000;
/** Each client sends several at a time: sequentially they would not reach the limit in time. */
const SENT_AT_ONCE = 4;

/** The outcome. */
interface FilledExecution {
  /** The number of accepted Updates. */
  accepted: number;
  /** The refusal of the run when it was full; undefined if it never refused. */
  refusal?: string;
}

/** Sends Updates that change nothing, from all clients at the same time, until the execution is full. */
async function fillExecution(clients: readonly LonghaulClient[], runId: string, untilMs: number): Promise<FilledExecution> {
  const filled: FilledExecution = { accepted: 0 };
  await Promise.all(
    clients
      .flatMap((client) => Array.from({ length: SENT_AT_ONCE }, () => client.handle(runId)))
      .map(async (run) => {
        while (filled.refusal === undefined && filled.accepted < MOST_UPDATES && Date.now() < untilMs) {
          try {
            await run.resume({ timeout: REFUSED_AFTER_MS });
            filled.accepted += 1;
          } catch (error) {
            filled.refusal ??= errorMessage(error);
          }
        }
      }),
  );
  return filled;
}

/** The requests to a run, and its record of them. */
export interface MessagesRecord {
  runId: string;
  /** The messages of each client, in the order it sent them. */
  sent: string[][];
  /** The decision on each payment, by its number. */
  verdicts: ReadonlyMap<number, 'approve' | 'reject'>;
  /** The errors that a client got and should not have got. */
  errors: string[];
  /** Its status, or the reason why it has no status. */
  status: string;
  /** The number of executions of the run. */
  executions: number;
  /** The least number of executions that it must have needed. */
  leastExecutions: number;
  events: Event[];
  /** The same data, read from history without a worker. */
  recorded: Event[];
  effects: Effect[];
}

/** The checks. */
export function messagesChecks(record: MessagesRecord): Check[] {
  const { sent, errors, status, executions, leastExecutions, events } = record;
  const read = messagesIn(events);
  const times = countOf(read);
  return [
    { name: 'every client is answered', problems: errors },
    { name: 'the run completes', problems: unless(status === 'completed', `it is "${status}"`) },
    { name: 'no message is lost', problems: sent.flat().flatMap((text) => unless(times.has(text), `"${text}" is not in the record`)) },
    {
      name: 'no message is doubled',
      problems: [...times].flatMap(([text, count]) => unless(count === 1, `"${text}" is ${count} times in the record`)),
    },
    { name: 'the messages of each client are in its order', problems: sent.flatMap((own) => orderProblems(own, read)) },
    { name: 'each decision is taken once', problems: decisionProblems(record) },
    { name: 'an approved call takes effect once, a rejected call never', problems: paymentProblems(record) },
    {
      name: 'the run continues as new',
      problems: unless(executions >= leastExecutions, `it had ${executions}, and needed ${leastExecutions}`),
    },
    { name: 'the record is the same without a worker', problems: recordProblems(record) },
  ];
}

/** The messages of users, in the order of the record. */
function messagesIn(events: readonly Event[]): string[] {
  return events
    .flatMap(({ content }) => content)
    .flatMap((item) => (item.type === 'message' && item.role === 'user' ? [outputText(item.content)] : []));
}

function countOf(texts: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return counts;
}

function orderProblems(own: readonly string[], read: readonly string[]): string[] {
  const mine = new Set(own);
  const places = new Map(own.map((text, place) => [text, place]));
  const order = read.filter((text) => mine.has(text)).map((text) => places.get(text) ?? 0);
  return order.flatMap((place, index) => {
    const before = order[index - 1];
    return before === undefined || before <= place ? [] : [`"${own[place]}" comes after "${own[before]}"`];
  });
}

/** The decisions, in the order of the record. */
function decisionsIn(events: readonly Event[]): Decision[] {
  return events.flatMap(({ decision }) => (decision === undefined ? [] : [decision]));
}

function decisionProblems({ verdicts, events }: MessagesRecord): string[] {
  const decisions = decisionsIn(events);
  const missing = [...verdicts].flatMap(([number, verdict]) => {
    const own = decisions.filter(({ callId }) => callId === `pay-${number}`);
    return unless(
      own.length === 1 && own[0]?.type === verdict,
      `payment ${number}: ${own.map(({ type }) => type).join(', ')}, sent ${verdict}`,
    );
  });
  return [...missing, ...unless(decisions.length === verdicts.size, `${decisions.length} decisions, ${verdicts.size} were sent`)];
}

function paymentProblems({ runId, verdicts, effects }: MessagesRecord): string[] {
  const expected = [...verdicts].map(([number, verdict]) => [callOf({ runId, number }), verdict === 'approve'] as const);
  return effectProblems(
    effects.filter(({ tool }) => tool === 'pay'),
    new Map(expected),
  );
}

/** Events that a worker recorded after the last response have ids that are not in the history. */
function recordProblems({ events, recorded }: MessagesRecord): string[] {
  const told = (event: Event | undefined): string => JSON.stringify({ ...event, id: '' });
  const length = Math.max(events.length, recorded.length);
  return Array.from({ length }, (_, offset) => offset)
    .filter((offset) => told(events[offset]) !== told(recorded[offset]))
    .map((offset) => `event ${offset}: ${told(events[offset])} with a worker, ${told(recorded[offset])} without`);
}

/** Further checks for a run that could not continue as new for a while. */
export function busyChecks({ effects, events }: MessagesRecord, { refusal }: FilledExecution): Check[] {
  const work = effects.filter(({ tool }) => tool === 'work');
  const ended = work[0]?.at ?? 0;
  const meanwhile = decisionsIn(events).filter(({ at }) => Date.parse(at) < ended);
  return [
    {
      name: 'while its call runs, the run refuses requests as busy',
      problems: unless(refusal?.includes('continued as new') === true, refusal ?? 'it never did'),
    },
    { name: 'the call runs once', problems: unless(work.length === 1, `it ran ${work.length} times`) },
    {
      name: 'decisions get through meanwhile',
      problems: unless(meanwhile.length > 0, 'nothing was decided before the call had ended'),
    },
  ];
}
