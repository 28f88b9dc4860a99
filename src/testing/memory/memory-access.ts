import { type ErrorCode, LonghaulError } from '../../core/domain/errors/error.ts';
import { plainLimits } from '../../core/domain/agent/limit-options.ts';
import type { RaiseInput, SendInput, SetPermissionsInput, UPDATES } from '../../core/protocol.ts';
import { refuseUpdate, takeUpdate } from '../../core/handlers/requests.ts';
import type { RunAccess } from '../harness/run-access.ts';
import { plainPermissions } from '../../define/permissions/permissions-option.ts';
import { roundTrip } from './payload-round-trip.ts';
import type { MemoryRun } from './memory-run.ts';
import type { VirtualTime } from './virtual-time.ts';

/** Returns the access of a test to a run in memory, by the rules of its workflow's handlers. */
export function memoryAccess(run: MemoryRun, time: VirtualTime): RunAccess {
  const update = (name: keyof typeof UPDATES, input: object): void => {
    const sent = roundTrip(input);
    const refused = refuseUpdate(run, name, sent, time.now());
    if (refused !== undefined) throw new LonghaulError(refused.code, refused.message);
    takeUpdate(run, name, sent, time.now());
    run.received();
  };
  return {
    send: async (id, content, mode) => update('send', { id, content, mode } satisfies SendInput),
    cancel: async (reason) => run.cancel(reason),
    raise: async (id, limits) => update('raise', { id, limits: plainLimits('raise', limits) } satisfies RaiseInput),
    setPermissions: async (id, permissions) =>
      update('setPermissions', { id, permissions: plainPermissions('setPermissions', permissions) } satisfies SetPermissionsInput),
    decide: async (id, { callId, digest }, { type, ...content }) => {
      update(type, { id, callId, digest, ...content });
      if (run.snapshot?.authorize) await verdict(run, time, id);
    },
  };
}

/** Waits for the authorization of a decision, and throws if it is refused. */
async function verdict({ inbox }: MemoryRun, time: VirtualTime, id: string): Promise<void> {
  // A decision that is sent again may be settled already, which its receipt says.
  if (inbox.decisions.every((one) => one.id !== id)) return;
  inbox.verdicts.await(id);
  await time.until(() => inbox.closed || inbox.verdicts.on(id) !== undefined);
  const found = inbox.verdicts.on(id);
  inbox.verdicts.forget(id);
  if (found?.type === 'refused') throw new LonghaulError(found.code as ErrorCode, found.message);
}
