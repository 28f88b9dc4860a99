import type { MessageReceiver } from '../core/handlers/message-receiver.ts';
import { SIGNAL_KINDS, takeSignal, takeUpdate, UPDATE_KINDS } from '../core/handlers/requests.ts';
import type { RecordedInboundMessage } from './recorded-execution.ts';

/** Applies a message as the workflow's handlers do. A recorded Update was accepted; a signal may be refused. */
export function takeInboundMessage(run: MessageReceiver, { by, name, argument }: RecordedInboundMessage, now: number): void {
  if (by === 'update' && isKind(UPDATE_KINDS, name)) takeUpdate(run, name, argument, now);
  if (by === 'signal' && isKind(SIGNAL_KINDS, name)) takeSignal(run, name, argument, now);
}

/**
 * Returns messages in the order in which the workflow handled them. At the start of an execution, handlers are
 * registered by name, Updates before signals, and messages that came earlier are handled in that order.
 */
export function inOrderOfHandling(messages: readonly RecordedInboundMessage[]): RecordedInboundMessage[] {
  const order = [
    ...Object.keys(UPDATE_KINDS).map((name) => `update ${name}`),
    ...Object.keys(SIGNAL_KINDS).map((name) => `signal ${name}`),
  ];
  const rank = ({ by, name }: RecordedInboundMessage): number => order.indexOf(`${by} ${name}`);
  const isFirst = ({ task }: RecordedInboundMessage): boolean => task === 1;
  const first = messages.filter(isFirst).toSorted((a, b) => rank(a) - rank(b));
  return [...first, ...messages.filter((message) => !isFirst(message))];
}

function isKind<Kinds extends object>(kinds: Kinds, name: string): name is Extract<keyof Kinds, string> {
  return Object.hasOwn(kinds, name);
}
