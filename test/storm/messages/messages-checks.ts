import type { Decision } from '../../../src/core/domain/approvals.ts';
import type { Event } from '../../../src/core/domain/record.ts';
import { outputText } from '../../../src/core/domain/content.ts';
import { type Check, unless } from '../../processes/command.ts';
import { callOf, type Effect, effectProblems } from '../processes/ledger.ts';

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
export function messagesIn(events: readonly Event[]): string[] {
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
export function decisionsIn(events: readonly Event[]): Decision[] {
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
