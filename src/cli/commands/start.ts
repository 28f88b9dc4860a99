import type { LonghaulClient } from '../../client/longhaul-client.ts';
import type { RunHandle } from '../../client/run-handle.ts';
import type { EarlierOpening } from '../../client/saved-context.ts';
import type { StartOptions } from '../../client/start-workflow.ts';
import type { StreamItemContent } from '../../client/stream/stream-item.ts';
import { defined, type JsonValue } from '../../core/domain/json.ts';
import { UsageError } from '../../core/domain/errors.ts';
import type { ModelName } from '../../core/domain/model.ts';
import { ProgramResult, type RunResult } from '../../core/domain/result.ts';
import type { RunOpening } from '../../core/domain/run-input.ts';
import { printable, printableLine, shellCommand } from '../../core/domain/text.ts';
import { DEFAULT_TASK_QUEUE } from '../../core/protocol.ts';
import type { SavedContext } from '../../core/saved/saved-context.ts';
import {
  type ConnectedClient,
  findUi,
  resolveServerLocation,
  runLink,
  type ServerLocation,
  serverOptions,
  wholeRunId,
  withClient,
} from '../command.ts';
import type { CommandIo, ServerFlags } from '../define-command.ts';
import { exitCodeOfRun } from '../exit-codes.ts';
import { readJson } from '../input-files.ts';
import { sharedStartOptions, type StartingFlags } from '../options.ts';
import type { Output } from '../output.ts';
import { noteWaitingApprovals } from '../render/approvals.ts';
import { resultLine, unitStatus } from '../render/run-view.ts';
import { LiveRun, liveService, SILENCE_MS, streamedItems } from '../render/live.ts';
import { stepLines } from '../render/timeline-lines.ts';
import { Interruption, textOrStdin } from '../terminal.ts';
import type { StartFlags } from '../run-commands.ts';

/** Starts a run and prints its id; with `--wait`, waits and prints the answer. */
export async function start(io: CommandIo, flags: StartFlags): Promise<number> {
  const opening = await readOpening(io, flags);
  return await withClient(io, flags, async ({ client, server }) => {
    const handle = await client.start(flags.agent, startOptions(flags, await withWholeIds(io, client, { flags, opening })));
    return await printStartedRun(io, flags, { client, server, handle: client.handle<unknown>(handle.runId), of: { agent: flags.agent } });
  });
}

/** A started run, and its names in JSON. */
interface StartedRun {
  client: LonghaulClient;
  server: ServerLocation;
  handle: RunHandle<unknown>;
  of: { agent: string } | { program: string };
}

/** Prints the id of a started run, or waits for its result, as the flags say. Returns the exit code. */
export async function printStartedRun(io: CommandIo, flags: StartingFlags, { client, server, handle, of }: StartedRun): Promise<number> {
  const { runId } = handle;
  const ui = await findUi(server, io.terminal.env);
  const link = ui === undefined ? undefined : runLink(ui, server.namespace, runId);
  if (!flags.wait && flags.waitTimeout === undefined) {
    announceRun(io, flags, { runId, of, link });
    await sayIfUnseen(io, client, { runId, of });
    return 0;
  }
  io.output.note(`Run ${runId}${link === undefined ? '' : `\n${link}`}`);
  return await waitForResult(io, client, handle, { flags, ...defined({ timeout: flags.waitTimeout }) });
}

function announceRun(
  { output }: CommandIo,
  flags: StartingFlags,
  { runId, of, link }: Pick<StartedRun, 'of'> & { runId: string; link: string | undefined },
): void {
  if (output.json) {
    const taskQueue = flags.taskQueue ?? DEFAULT_TASK_QUEUE;
    output.printJson({ runId, ...of, taskQueue, ...defined({ uiUrl: link }) });
    return;
  }
  output.print(runId);
  if (link !== undefined) output.note(link);
}

/** How long a start with an unknown name waits for a worker to report that it lacks the agent, in milliseconds. */
const UNSEEN_MS = 1_500;

/** Notes on stderr if no worker has had an agent or program with this name so far: it may be misspelt. */
async function sayIfUnseen(
  { output }: CommandIo,
  { temporal }: LonghaulClient,
  { runId, of }: Pick<StartedRun, 'of'> & { runId: string },
): Promise<void> {
  const { noticeOfStart } = await import('../../client/missing-workers.ts');
  const named = 'agent' in of ? { kind: 'agent' as const, name: of.agent } : { kind: 'program' as const, name: of.program };
  const notice = await noticeOfStart(temporal, { ...named, runId }, { watchMs: UNSEEN_MS });
  if (notice !== undefined) output.note(printableLine(notice));
}

/** Completes the id of the previous run, which may be given as a prefix. */
async function withWholeIds(
  io: CommandIo,
  client: LonghaulClient,
  { flags, opening }: { flags: StartFlags; opening: RunOpening | EarlierOpening },
): Promise<RunOpening | EarlierOpening> {
  if (flags.previous === undefined) return opening;
  return { ...opening, previousRunId: await wholeRunId(io, client, { ...flags, runId: flags.previous }) };
}

function startOptions(flags: StartFlags, opening: RunOpening | EarlierOpening): StartOptions {
  const { model, settings } = flags;
  return {
    ...opening,
    ...sharedStartOptions(flags),
    // Like the input: checked by the client.
    ...(model === undefined ? {} : { model: model as ModelName }),
    ...defined({ settings }),
  };
}

/** Returns what the run begins with. It may be any JSON: the client checks it, and its error says what is expected. */
async function readOpening(io: CommandIo, flags: StartFlags): Promise<RunOpening | EarlierOpening> {
  const before = await readConversation(io, flags);
  const hasInput = flags.input !== undefined || flags.inputJson !== undefined;
  if (before !== undefined && !hasInput) return before;
  const input = (await readInput(io, flags)) as string;
  return { ...before, input };
}

/** The conversation before the input, in one of its forms. */
type Conversation = Required<Pick<RunOpening, 'messages'>> | EarlierOpening;

async function readConversation({ terminal }: CommandIo, flags: StartFlags): Promise<Conversation | undefined> {
  const { messagesJson, load, previous } = flags;
  if ([messagesJson, load, previous].filter((one) => one !== undefined).length > 1) {
    throw new UsageError('There are several conversations: give one of --messages-json, --load and --previous');
  }
  if (load === '-' && flags.input === '-') throw new UsageError('Only one of --load and the input can be "-"');
  if (load !== undefined) return { saved: (await readJson(load, 'saved context', terminal)) as SavedContext };
  if (previous !== undefined) return { previousRunId: previous };
  const messages = messagesJson as RunOpening['messages'];
  return messages === undefined ? undefined : { messages };
}

async function readInput({ terminal, output }: CommandIo, { agent, input, inputJson }: StartFlags): Promise<JsonValue> {
  if (input !== undefined && inputJson !== undefined) throw new UsageError('There are two inputs: give the text or --input-json, not both');
  if (inputJson !== undefined) return inputJson;
  if (input === undefined) {
    throw new UsageError(`There is no input: write ${output.program} start "${agent}" "…", or "-" to read it from stdin, or --input-json`);
  }
  return await textOrStdin(input, terminal);
}

/**
 * Waits for the end of a run, prints its result, and returns the exit code for its status. On a terminal, text appears as the model
 * writes it, if a service streams it. Meanwhile reports pending approvals, and on stderr that the run is working, or that no worker
 * takes it or has what it needs. An interruption does not affect the run.
 */
export async function waitForResult(
  io: CommandIo,
  { temporal }: Pick<ConnectedClient['client'], 'temporal'>,
  handle: RunHandle<unknown>,
  { flags, ...options }: { timeout?: number; steps?: boolean; flags: ServerFlags },
): Promise<number> {
  const { terminal, output } = io;
  const { signal } = terminal;
  const sayHowToWait = (): void => {
    if (signal.reason instanceof Interruption && signal.reason.exitCode !== 0) {
      const again = shellCommand('result', { operands: [handle.runId], options: serverOptions(flags), program: output.program });
      output.note(`The run continues. Wait for it again: ${again}`);
    }
  };
  const { watchForWorker } = await import('../../client/missing-workers.ts');
  const ended = new AbortController();
  signal.addEventListener('abort', sayHowToWait, { once: true });
  void watchForWorker(temporal, handle.runId, ended.signal, (line) => output.note(printable(line)));
  void noteWaitingApprovals(io, handle, { flags, ended: AbortSignal.any([ended.signal, signal]) });
  const live = new LiveRun(output);
  const silence = setTimeout(() => output.note(output.look('dim', 'The run is working …')), SILENCE_MS);
  const service = output.isLive ? liveService(terminal.env, (await resolveServerLocation(flags)).address) : undefined;
  if (service !== undefined) {
    const items = streamedItems(service, handle.runId, AbortSignal.any([ended.signal, signal]));
    void live.follow(untilFirst(items, () => clearTimeout(silence)));
  }
  try {
    const result = await handle.result({ ...options, signal });
    clearTimeout(silence);
    printResult(output, result, live.finish(result.outputText));
    return exitCodeOfRun(result.status);
  } finally {
    clearTimeout(silence);
    ended.abort();
    signal.removeEventListener('abort', sayHowToWait);
  }
}

/** Yields the items, and calls the function at the first piece of text. */
async function* untilFirst(items: AsyncIterable<StreamItemContent>, begins: () => void): AsyncGenerator<StreamItemContent> {
  for await (const item of items) {
    if (item.type === 'delta') begins();
    yield item;
  }
}

/**
 * Prints the answer to stdout, so that it can be redirected, unless it was already written, and everything else about the run to stderr.
 */
function printResult(output: Output, result: RunResult<unknown>, isWritten: boolean): void {
  if (output.json) return output.printJson(result);
  for (const step of result.steps ?? []) {
    for (const line of stepLines(step, output)) output.note(line);
  }
  if (result.outputText !== '' && !isWritten) output.print(printable(result.outputText));
  output.note(printable(resultLine(result)));
  if (result instanceof ProgramResult) for (const line of unfinishedUnits(result)) output.note(line);
  if (result.error !== null)
    output.note(`error${result.errorCode === undefined ? '' : ` (${result.errorCode})`}: ${printable(result.error)}`);
  if (result.cancelReason !== undefined) output.note(`cancelled: ${printable(result.cancelReason)}`);
}

/** Returns a line for each incomplete unit of a program. The failure of a unit is also the error of the run. */
function unfinishedUnits({ units }: ProgramResult<unknown>): string[] {
  return units
    .filter(({ status }) => status !== 'completed')
    .map(({ name, status, reason }) =>
      printable(`unit ${name}: ${unitStatus({ status }, { isOver: true })}${reason === undefined ? '' : `: ${reason}`}`),
    );
}
