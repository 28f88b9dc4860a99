import type { IfExists } from '../../client/start/if-exists.ts';
import type { StartOptions } from '../../client/start/start-run.ts';
import { UsageError } from '../../core/domain/errors/error.ts';
import type { JsonObject, JsonValue } from '../../core/domain/json/json.ts';
import type { RunOpening } from '../../core/domain/run/opening.ts';
import type { ModelName } from '../../core/domain/agent/model-name.ts';
import { DEFAULT_TASK_QUEUE } from '../../core/protocol.ts';
import type { CommandIo, ServerFlags } from '../program/command.ts';
import { type LimitFlags, limitOptions } from '../program/limit-flags.ts';
import { textOrStdin } from './stdin-text.ts';
import { findUi, runLink } from '../render/ui-link.ts';
import { waitForResult } from './wait-for-result.ts';
import { withClient } from '../with-client.ts';

/** The options of `longhaul start`. */
export interface StartFlags extends ServerFlags, LimitFlags {
  agent: string;
  input?: string;
  inputJson?: JsonValue;
  messagesJson?: JsonValue;
  deps?: JsonObject;
  runId?: string;
  ifExists: IfExists;
  model?: string;
  settings?: JsonObject;
  tag?: string[];
  memo?: JsonObject;
  priority?: number;
  fairnessKey?: string;
  wait?: boolean;
  /** Milliseconds. */
  waitTimeout?: number;
}

/** Starts a run and prints its id; with `--wait`, waits and prints the answer. */
export async function start(io: CommandIo, flags: StartFlags): Promise<number> {
  const opening = await readOpening(io, flags);
  return await withClient(io, flags, async ({ client, server }) => {
    const handle = await client.start(flags.agent, startOptions(flags, opening));
    const ui = await findUi(server, io.terminal.env);
    const link = ui === undefined ? undefined : runLink(ui, server.namespace, handle.runId);
    if (!flags.wait && flags.waitTimeout === undefined) return announce(io, flags, { runId: handle.runId, link });
    io.output.note(`Run ${handle.runId}${link === undefined ? '' : `\n${link}`}`);
    return await waitForResult(io, client, handle, { flags, ...(flags.waitTimeout === undefined ? {} : { timeout: flags.waitTimeout }) });
  });
}

function announce({ output }: CommandIo, flags: StartFlags, { runId, link }: { runId: string; link: string | undefined }): number {
  if (output.json) {
    const taskQueue = flags.taskQueue ?? DEFAULT_TASK_QUEUE;
    output.printJson({ runId, agent: flags.agent, taskQueue, ...(link === undefined ? {} : { uiUrl: link }) });
    return 0;
  }
  output.print(runId);
  if (link !== undefined) output.note(link);
  return 0;
}

function startOptions(flags: StartFlags, opening: RunOpening): StartOptions {
  const { deps, runId, ifExists, model, settings, tag, memo, priority, fairnessKey } = flags;
  const limits = limitOptions(flags);
  return {
    ...opening,
    ifExists,
    ...(deps === undefined ? {} : { deps }),
    ...(runId === undefined ? {} : { runId }),
    // Like the input: checked by the client.
    ...(model === undefined ? {} : { model: model as ModelName }),
    ...(settings === undefined ? {} : { settings }),
    ...(tag === undefined ? {} : { tags: tag }),
    ...(memo === undefined ? {} : { memo }),
    ...(priority === undefined ? {} : { priority }),
    ...(fairnessKey === undefined ? {} : { fairnessKey }),
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
  };
}

/** Returns what the run begins with. It may be any JSON: the client checks it, and its error says what is expected. */
async function readOpening(io: CommandIo, flags: StartFlags): Promise<RunOpening> {
  const messages = flags.messagesJson as RunOpening['messages'];
  const hasInput = flags.input !== undefined || flags.inputJson !== undefined;
  if (messages !== undefined && !hasInput) return { messages };
  const input = (await readInput(io, flags)) as string;
  return messages === undefined ? { input } : { messages, input };
}

async function readInput({ terminal, output }: CommandIo, { agent, input, inputJson }: StartFlags): Promise<JsonValue> {
  if (input !== undefined && inputJson !== undefined) throw new UsageError('There are two inputs: give the text or --input-json, not both');
  if (inputJson !== undefined) return inputJson;
  if (input === undefined) {
    throw new UsageError(`There is no input: write ${output.program} start "${agent}" "…", or "-" to read it from stdin, or --input-json`);
  }
  return await textOrStdin(input, terminal);
}
