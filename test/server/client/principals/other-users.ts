import type { LonghaulClient, RunHandle, SessionHandle } from '../../../../src/client/index.ts';

type Method<Of> = { [Name in keyof Of]: Of[Name] extends (...args: never[]) => unknown ? Name : never }[keyof Of];

async function drained(items: AsyncGenerator<unknown>): Promise<unknown[]> {
  const all: unknown[] = [];
  for await (const item of items) all.push(item);
  return all;
}

const waiting = (runId: string) => ({ callId: 'c1', digest: 'd', runId });

/** Every method of a run, called on a run of another user. The compiler reports a method that is missing here. */
export const RUN_CALLS: Record<Method<RunHandle>, (run: RunHandle) => Promise<unknown>> = {
  result: (run) => run.result(),
  status: (run) => run.status(),
  context: (run) => run.context(),
  progress: (run) => run.progress(),
  trace: (run) => run.trace(),
  exportTrace: (run) => run.exportTrace(),
  traceContext: (run) => run.traceContext(),
  steps: (run) => run.steps(),
  events: (run) => drained(run.events({ tree: true })),
  stream: (run) => drained(run.stream()),
  tree: (run) => run.tree(),
  export: (run) => drained(run.export()),
  save: (run) => run.save(),
  delete: (run) => run.delete(),
  approvals: (run) => run.approvals(),
  descendant: (run) => run.descendant(run.runId).status(),
  approve: (run) => run.approve(waiting(run.runId)),
  reject: (run) => run.reject('c1'),
  respond: (run) => run.respond('c1', 'yes'),
  revoke: (run) => run.revoke('d1'),
  raise: (run) => run.raise({ steps: 100 }),
  setPermissions: (run) => run.setPermissions({ mode: 'deny_all' } as never),
  send: (run) => run.send('Hello'),
  pause: (run) => run.pause(),
  resume: (run) => run.resume(),
  cancel: (run) => run.cancel('no'),
  retry: (run) => run.retry(),
  timeline: (run) => run.timeline(),
  snapshot: (run) => run.snapshot(),
  call: (run) => run.call('c1'),
  request: (run) => run.request(1),
};

/** The same for the methods of a session. */
export const SESSION_CALLS: Record<Method<SessionHandle>, (session: SessionHandle) => Promise<unknown>> = {
  open: (session) => session.open(),
  send: (session) => session.send('Hello'),
  ask: (session) => session.ask('Hello'),
  stream: (session) => drained(session.stream()),
  answer: (session) => session.answer({ id: 'm', turn: 1 }),
  turn: (session) => session.turn(1),
  interrupt: (session) => session.interrupt(),
  refresh: (session) => session.refresh(),
  reset: (session) => session.reset(),
  save: (session) => session.save(),
  close: (session) => session.close(),
  raise: (session) => session.raise({ totalTokens: 1_000_000 }),
  status: (session) => session.status(),
  turns: (session) => session.turns(),
};

/** Calls a method and returns its refusal with the id left out, so that refusals of two ids can be compared. */
export async function refusalOf(call: Promise<unknown>, id: string): Promise<string> {
  try {
    return `answered ${JSON.stringify(await call)}`;
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    return `${code}: ${message.replaceAll(id, '<id>')}`;
  }
}

/** The client of a user. */
export function clientOf(client: LonghaulClient, user: number): LonghaulClient {
  return client.as({ tenant: 'acme', user: `user-${user}` });
}
