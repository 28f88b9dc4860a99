import type { JsonObject, JsonValue } from '../../src/domain/json.ts';
import type { UPDATES } from '../../src/protocol.ts';
import type { Receiver, Refusal } from '../../src/receive/receiver.ts';
import { refuseUpdate, takeUpdate } from '../../src/receive/requests.ts';
import type { FakeRun, Person } from './fake-ports.ts';

/** Sends an Update as the server would deliver it; throws where the run refuses it. */
export function update(run: Receiver, name: keyof typeof UPDATES, input: unknown): void {
  const refused = refuseUpdate(run, name, input);
  if (refused !== undefined) throw new Error(`The run refused "${name}": ${refused.message}`);
  takeUpdate(run, name, input, Date.parse('2023-11-14T22:13:20.000Z'));
}
