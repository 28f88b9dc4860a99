import type { JsonValue } from '../../../../src/core/domain/json/json.ts';
import type { LimitChanges } from '../../../../src/core/domain/agent/limits.ts';
import type { MessageMode } from '../../../../src/core/domain/record/queued-message.ts';
import type { ApproveInput, RejectInput, RespondInput, SIGNALS, UPDATES } from '../../../../src/core/protocol.ts';
import type { MessageReceiver, Refusal } from '../../../../src/core/handlers/message-receiver.ts';
import { refuseUpdate, takeSignal, takeUpdate } from '../../../../src/core/handlers/requests.ts';
import type { FakeRun, Person } from './fake-ports.ts';

/** When everything comes that somebody says. */
const ARRIVAL = Date.parse('2023-11-14T22:13:20.000Z');

/** Sends an Update as the server would deliver it; throws where the run refuses it. */
export function update(run: MessageReceiver, name: keyof typeof UPDATES, input: unknown): unknown {
  const refused = refuseUpdate(run, name, input);
  if (refused !== undefined) throw new Error(`The run refused "${name}": ${refused.message}`);
  return takeUpdate(run, name, input, ARRIVAL);
}

/** Why the run refuses an Update. Throws where it would take it. */
export function refusal(run: MessageReceiver, name: keyof typeof UPDATES, input: unknown): Refusal {
  const refused = refuseUpdate(run, name, input);
  if (refused === undefined) throw new Error(`The run would take "${name}"`);
  return refused;
}

/** Sends a Signal as the server would deliver it. */
export function signal(run: MessageReceiver, name: keyof typeof SIGNALS, input: unknown): void {
  takeSignal(run, name, input, ARRIVAL);
}

/** What a decision says, about the call as it waits. */
export function about(run: FakeRun, callId: string): { callId: string; id: string; digest: string; by: string } {
  const { digest = 'of a call that does not wait' } = run.state.approvals.pending.find((one) => one.callId === callId) ?? {};
  return { callId, id: `decision on ${callId}`, digest, by: 'ann' };
}

/** Somebody lets a call run. */
export function approves(callId: string, more: Partial<ApproveInput> = {}): Person {
  return (run) => update(run, 'approve', { ...about(run, callId), ...more });
}

/** Somebody rejects a call. */
export function rejects(callId: string, more: Partial<RejectInput> = {}): Person {
  return (run) => update(run, 'reject', { ...about(run, callId), ...more });
}

/** Somebody answers a call in the tool's stead. */
export function responds(callId: string, content: JsonValue, more: Partial<RespondInput> = {}): Person {
  return (run) => update(run, 'respond', { ...about(run, callId), content, ...more });
}

/** Somebody raises limits. */
export function raises(limits: LimitChanges, id = 'raise 1'): Person {
  return (run) => update(run, 'raise', { id, limits, by: 'ann' });
}

/** Somebody sends a message, whose id is its text. */
export function sends(text: string, mode: MessageMode = 'queue'): Person {
  return (run) => update(run, 'send', { id: text, content: text, mode });
}

/** Somebody pauses the run. */
export const pauses: Person = (run) => update(run, 'pause', {});

/** Somebody lets a paused run go on. */
export const resumes: Person = (run) => update(run, 'resume', {});

/** Several say something at once: the run hears all of it together. */
/** The same, by somebody who waits for what comes of the decision of that id, and goes on waiting. */
export function heard(id: string, person: Person): Person {
  return (run) => {
    run.inbox.awaitVerdict(id);
    return person(run);
  };
}

export function together(...people: Person[]): Person {
  return (run) => {
    for (const person of people) person(run);
  };
}
