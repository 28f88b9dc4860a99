import type { LonghaulClient } from '../client/longhaul-client.ts';
import { printableLine, shellCommand } from '../core/domain/text.ts';
import { UsageError } from '../core/domain/errors.ts';
import type { CommandIo, ServerFlags } from './program/command.ts';
import { serverOptions } from './program/server-options.ts';
import { type ConnectedClient, withClient } from './with-client.ts';

/** Ids that a message names. */
const NAMED = 5;

/** The end of an id that a list has cut. */
const CUT = '…';

/** True for an id as a list has cut it. */
export function isCut(id: string): boolean {
  return id.endsWith(CUT);
}

/** Connects as `withClient` does, and finds the run that an id, or the beginning of one, names. */
export async function withRun<Value>(
  io: CommandIo,
  flags: ServerFlags & { runId: string },
  work: (found: ConnectedClient & { runId: string }) => Promise<Value>,
): Promise<Value> {
  return withClient(io, flags, async (connected) => work({ ...connected, runId: await wholeRunId(io, connected.client, flags) }));
}

/**
 * Returns the id of the run that `runId` names: its whole id, or a beginning that no other run has. Runs below a run with that beginning do
 * not count. An id that nothing has is returned as it is: the command refuses it, in the same words as the run of another principal. Throws
 * a UsageError that names the candidates. With `--json` an id is taken as it is: a program that means a run which is gone must not reach
 * another one.
 */
export async function wholeRunId({ output }: CommandIo, client: LonghaulClient, flags: ServerFlags & { runId: string }): Promise<string> {
  const { runId: given } = flags;
  if (output.json || (await exists(client, given))) return given;
  const beginning = given.endsWith(CUT) ? given.slice(0, -CUT.length) : given;
  const [only = given, ...others] = beginning === '' ? [] : await topmostIds(client, beginning);
  if (others.length === 0) return only;
  const list = shellCommand('list', { operands: [], options: serverOptions(flags), program: output.program });
  const named = [only, ...others].slice(0, NAMED).map((id) => `"${id}"`);
  const more = others.length >= NAMED ? ` and others, which ${list} shows` : '';
  throw new UsageError(printableLine(`Several runs begin with "${beginning}": ${named.join(', ')}${more}. Write more of the id`));
}

async function exists({ temporal }: LonghaulClient, runId: string): Promise<boolean> {
  const { withoutMemos } = await import('../temporal/run-workflow.ts');
  try {
    await withoutMemos(temporal).workflow.getHandle(runId).describe();
    return true;
  } catch (error) {
    if (error instanceof Error && error.name === 'WorkflowNotFoundError') return false;
    throw error;
  }
}

/** Runs that are looked at: those below a run may be many. */
const LOOKED_AT = 100;

/** Returns the ids that begin like this, without those of runs below another one of them. */
async function topmostIds(client: LonghaulClient, beginning: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { runId } of client.list({ runIdPrefix: beginning, limit: LOOKED_AT })) found.push(runId);
  const ids = [...new Set(found)];
  return ids.filter((id) => !ids.some((other) => id !== other && id.startsWith(`${other}/`)));
}
