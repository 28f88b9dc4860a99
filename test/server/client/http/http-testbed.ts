import { expect } from 'vitest';
import { LonghaulClient } from '../../../../src/client/index.ts';
import type { AnyProgram } from '../../../../src/define/program/program-definition.ts';
import type { Caller, Handler } from '../../../../src/server/index.ts';
import { scriptedModel, type ScriptEntry } from '../../../../src/testing/index.ts';
import { checkedHandler } from '../../../server-http/checked-handler.ts';
import { answer } from '../../../server-http/requests.ts';
import { clerk } from '../../approvals/decision-agents.ts';
import { assistant } from '../../testbed/agents.ts';
import type { Testbed } from '../../testbed/testbed.ts';

/** The body of a response. */
export type Json = Record<string, unknown>;

/** A service on a worker with a scripted model. */
export async function service(
  testbed: Testbed,
  entries: ScriptEntry[],
  { caller, programs = [] }: { caller?: Partial<Caller>; programs?: readonly AnyProgram[] } = {},
): Promise<Handler> {
  await testbed.work({ agents: [assistant, clerk], programs: [...programs], providers: { scripted: scriptedModel(entries) } });
  return serviceOf(testbed, caller, programs);
}

/** Another service on the same task queue, as of another process. */
export function serviceOf(testbed: Testbed, caller?: Partial<Caller>, programs: readonly AnyProgram[] = []): Promise<Handler> {
  const client = new LonghaulClient(testbed.client.temporal, { taskQueue: testbed.taskQueue });
  const whole: Caller = { id: 'ops', principal: 'all', scopes: ['admin'], ...caller };
  const authenticated = caller === undefined ? {} : { authenticate: () => whole };
  return checkedHandler(client, { agents: [assistant, clerk], programs, ...authenticated });
}

/** Starts a run, and returns its path. */
export async function started(handler: Handler, body: object, headers: Record<string, string> = {}): Promise<string> {
  const { status, body: begun } = await answer<{ runId: string }>(handler, 'POST', '/v1/runs', { body, headers });
  expect(status).toBe(201);
  return `/v1/runs/${encodeURIComponent(begun.runId)}`;
}
