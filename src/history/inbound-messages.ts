import type { MessageReceiver } from '../core/handlers/message-receiver.ts';
import { SIGNAL_KINDS, takeSignal, takeUpdate, UPDATE_KINDS } from '../core/handlers/requests.ts';
import type { RecordedInboundMessage } from './recorded-execution.ts';

/** Takes what came, as the handlers of the workflow do it: an Update was accepted, a signal may be refused. */
export function takeInboundMessage(run: MessageReceiver, { by, name, argument }: RecordedInboundMessage, now: number): void {
  if (by === 'update' && isKind(UPDATE_KINDS, name)) takeUpdate(run, name, argument, now);
  if (by === 'signal' && isKind(SIGNAL_KINDS, name)) takeSignal(run, name, argument, now);
}

/**
 * Arrivals in the order in which they were handled. Handlers are registered by name when an execution begins, Updates
 * before signals, and what came before that is handled then.
 */
export function inOrderOfHandling(arrivals: readonly RecordedInboundMessage[]): RecordedInboundMessage[] {
  const order = [
    ...Object.keys(UPDATE_KINDS).map((name) => `update ${name}`),
    ...Object.keys(SIGNAL_KINDS).map((name) => `signal ${name}`),
  ];
  const rank = ({ by, name }: RecordedInboundMessage): number => order.indexOf(`${by} ${name}`);
  const isFirst = ({ task }: RecordedInboundMessage): boolean => task === 1;
  const first = arrivals.filter(isFirst).toSorted((a, b) => rank(a) - rank(b));
  return [...first, ...arrivals.filter((arrival) => !isFirst(arrival))];
}

function isKind<Kinds extends object>(kinds: Kinds, name: string): name is Extract<keyof Kinds, string> {
  return Object.hasOwn(kinds, name);
}
