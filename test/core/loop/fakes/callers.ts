import type { JsonValue } from '../../../../src/core/domain/json.ts';
import type { LimitChanges } from '../../../../src/core/domain/limits.ts';
import type { MessageMode } from '../../../../src/core/domain/content.ts';
import type { ApproveInput, RejectInput, RespondInput, SIGNALS, UPDATES } from '../../../../src/core/protocol.ts';
import type { MessageReceiver, Refusal } from '../../../../src/core/handlers/decisions.ts';
import { refuseUpdate, takeSignal, takeUpdate } from '../../../../src/core/handlers/requests.ts';
import type { FakeRun, Caller } from './fake-ports.ts';

/** The arrival time of all requests. */
const ARRIVAL = Date.parse('2023-11-14T22:13:20.000Z');

/** Sends an Update as the server would deliver it; throws if the run refuses it. */
export function update(run: MessageReceiver, name: keyof typeof UPDATES, input: unknown): unknown {
  const refused = refuseUpdate(run, name, input, ARRIVAL);
  if (refused !== undefined) throw new Error(`The run refused "${name}": ${refused.message}`);
  return takeUpdate(run, name, input, ARRIVAL);
}

/** Returns the refusal of an Update. Throws if the run would accept it. */
export function refusal(run: MessageReceiver, name: keyof typeof UPDATES, input: unknown): Refusal {
  const refused = refuseUpdate(run, name, input, ARRIVAL);
  if (refused === undefined) throw new Error(`The run would take "${name}"`);
  return refused;
}

/** Sends a Signal as the server would deliver it. */
export function signal(run: MessageReceiver, name: keyof typeof SIGNALS, input: unknown): void {
  takeSignal(run, name, input, ARRIVAL);
}

/** The common fields of a decision on a pending call. */
export function about(run: FakeRun, callId: string): { callId: string; id: string; digest: string; by: string } {
  const { pending, decided } = run.state.approvals;
  const { digest = 'of a call that does not wait' } = [...pending, ...decided].find((one) => one.callId === callId) ?? {};
  return { callId, id: `decision on ${callId}`, digest, by: 'ann' };
}

/** Approves a call. */
export function approves(callId: string, more: Partial<ApproveInput> = {}): Caller {
  return (run) => update(run, 'approve', { ...about(run, callId), ...more });
}

/** Rejects a call. */
export function rejects(callId: string, more: Partial<RejectInput> = {}): Caller {
  return (run) => update(run, 'reject', { ...about(run, callId), ...more });
}

/** Answers a call in place of its tool. */
export function responds(callId: string, content: JsonValue, more: Partial<RespondInput> = {}): Caller {
  return (run) => update(run, 'respond', { ...about(run, callId), content, ...more });
}

/** Raises limits. */
export function raises(limits: LimitChanges, id = 'raise 1'): Caller {
  return (run) => update(run, 'raise', { id, limits, by: 'ann' });
}

/** Sends a message whose id is its text. */
export function sends(text: string, mode: MessageMode = 'queue'): Caller {
  return (run) => update(run, 'send', { id: text, content: text, mode });
}

/** Pauses the run. */
export const pauses: Caller = (run) => update(run, 'pause', {});

/** Resumes a paused run. */
export const resumes: Caller = (run) => update(run, 'resume', {});

/** The same caller, which then waits for the verdict on the decision with this id. */
export function awaitsVerdict(id: string, caller: Caller): Caller {
  return (run) => {
    run.inbox.verdicts.await(id);
    return caller(run);
  };
}

/** Several requests at the same time: the run gets all of them together. */
export function together(...callers: Caller[]): Caller {
  return (run) => {
    for (const caller of callers) caller(run);
  };
}
