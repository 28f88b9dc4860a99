import type { SessionFilter, SessionListEntry } from '../../client/list.ts';
import type { LonghaulClient } from '../../client/longhaul-client.ts';
import type { SessionHandle } from '../../client/session-handle.ts';
import { waitsText } from '../../core/domain/approvals.ts';
import { outputText } from '../../core/domain/content.ts';
import { defined } from '../../core/domain/json.ts';
import { errorCode, LonghaulError, UsageError } from '../../core/domain/errors.ts';
import type { Event, TurnNote } from '../../core/domain/record.ts';
import { isTerminal } from '../../core/domain/run.ts';
import { type SessionLimitReached, sessionTotals, type SessionView } from '../../core/domain/sessions.ts';
import { ANYWHERE, oneLine, printable, printableLine, shellCommand } from '../../core/domain/text.ts';
import type { StatusView, UnreadMessage } from '../../core/protocol.ts';
import type { SavedContext } from '../../core/saved/saved-context.ts';
import { osUser, printList, sendWithId, serverOptions, withClient, withRun } from '../command.ts';
import type { CommandIo, FlagsOf, ServerFlags } from '../define-command.ts';
import { readJson } from '../input-files.ts';
import { SESSION_LIMIT_FLAGS, sessionLimitOptions } from '../options.ts';
import { type EntryColumn, entryLines, type Fact, factLines, leastOfIds, type Output, pointInTime } from '../output.ts';
import { approvalLines } from '../render/approvals.ts';
import { turnText } from '../render/event-lines.ts';
import { principalText, sessionFacts } from '../render/run-view.ts';
import { removeRun, storesIn, writeSaved } from './records.ts';
import type {
  CLOSE_SESSION,
  DELETE_SESSION,
  LOAD_SESSION,
  RAISE_SESSION,
  RESET_SESSION,
  SAVE_SESSION,
  SESSIONS,
  SHOW_SESSION,
} from '../session-commands.ts';

/** Prints a session: its title, agent, status and turns, its usage against its limits, what waits, and its newest turns. */
export async function showSession(io: CommandIo, { sessionId: given, last, ...flags }: FlagsOf<typeof SHOW_SESSION>): Promise<number> {
  const { output } = io;
  return withRun(io, { ...flags, runId: given }, async ({ client, runId: sessionId }) => {
    const run = client.handle(sessionId);
    const status = await run.status();
    const { session } = status;
    if (session === undefined) {
      const command = shellCommand('show', { operands: [sessionId], options: serverOptions(flags), program: output.program });
      throw new UsageError(`Run "${sessionId}" is not a session, or has not begun: ${command} shows a run`);
    }
    const [exchanges, approvals, { unread = [] }] = await Promise.all([
      newestExchanges(run, { events: status.events, count: last }),
      isTerminal(status.status) ? undefined : run.approvals(),
      status.queued === 0 ? { unread: [] } : run.context({ from: status.events }),
    ]);
    const { pending = [] } = approvals ?? {};
    const { agentName, status: state, startTime } = status;
    const hint = isTerminal(state) ? undefined : raiseHint(sessionId, session, flags, output.program);
    return output.result({ version: 1, sessionId, agentName, status: state, startTime, ...session, pending, exchanges, unread }, [
      ...sessionFactLines({ ...status, session }, output),
      ...(hint === undefined ? [] : [`  ${output.look('cyan', printableLine(hint))}`]),
      ...pending.flatMap((waiting) => ['', ...approvalLines(waiting, { output, runId: sessionId, flags })]),
      ...turnLines(exchanges, session, output),
      ...unreadLines(unread, output),
    ]);
  });
}

/** Returns the facts of a session, one per line. */
function sessionFactLines(
  { runId, agentName, currentAgent = agentName, status, startTime, session }: StatusView & { session: SessionView },
  output: Pick<Output, 'look'>,
): string[] {
  const agents = [...new Set([agentName, currentAgent])].map(printableLine).join(' → ');
  const facts: Fact[] = [['Session', printableLine(runId)], ['Agent', agents], ['Status', status], ...sessionFacts(session, startTime)];
  return factLines([...facts, ['Started', startTime]], output);
}

function turnLines(exchanges: readonly Exchange[], { turns }: SessionView, output: Pick<Output, 'look'>): string[] {
  const first = turns - exchanges.length + 1;
  return exchanges.flatMap((exchange, index) => [
    '',
    output.look('dim', `Turn ${exchange.end?.number ?? first + index}`),
    ...exchangeLines(exchange, output),
  ]);
}

function unreadLines(unread: readonly UnreadMessage[], output: Pick<Output, 'look'>): string[] {
  if (unread.length === 0) return [];
  const messages = unread.map(({ content }) => outputText(content));
  return ['', output.look('dim', 'Not read yet'), ...exchangeLines({ messages, answer: '' }, output)];
}

/** The bytes of a title that the table shows; `--json` shows all. */
const TITLE_BYTES = 60;

/** Lists sessions, in the order of the server: a table, or one JSON object per line. */
export async function sessions(io: CommandIo, flags: FlagsOf<typeof SESSIONS>): Promise<number> {
  return withClient(io, flags, ({ client }) =>
    printList(io, client.sessions(filterOf(flags)), {
      json: (entry) => ({ ...entry, status: entry.status ?? null }),
      lines: (entries) => sessionLines(entries, io.output),
      none: 'No sessions.',
    }),
  );
}

function filterOf({ agent, status, tag, since, before, query, limit }: FlagsOf<typeof SESSIONS>): SessionFilter {
  return {
    limit,
    ...defined({ agent, status, tag, startedAfter: since, startedBefore: before, query }),
  };
}

/** Returns sessions as a table, with columns for waiting calls and titles only if a session has some. */
export function sessionLines(
  entries: readonly SessionListEntry[],
  output: Pick<Output, 'look'> & Partial<Pick<Output, 'columns'>>,
): string[] {
  const columns: EntryColumn<SessionListEntry>[] = [
    { title: 'SESSION', least: leastOfIds(entries.map(({ sessionId }) => sessionId)), of: ({ sessionId }) => sessionId },
    { title: 'AGENT', least: 8, of: ({ agentName }) => agentName },
    { title: 'STATUS', of: ({ status = '?' }) => status },
    { title: 'STARTED', leaves: 2, of: ({ startTime }) => pointInTime(startTime) },
    { title: 'FOR', least: 10, leaves: 1, ifAny: true, of: (entry) => principalText(entry) ?? '' },
    { title: 'WAITING FOR', least: 10, leaves: 3, ifAny: true, of: ({ waitingFor }) => waitsText(waitingFor) },
    { title: 'TITLE', least: 10, leaves: 4, ifAny: true, of: ({ title = '' }) => oneLine(printableLine(title), TITLE_BYTES) },
  ];
  return entryLines(entries, columns, output);
}

/** Raises limits of a whole session, and prints its turns and amounts against the new limits. */
export async function raiseSession(io: CommandIo, flags: FlagsOf<typeof RAISE_SESSION>): Promise<number> {
  const { output } = io;
  const { sessionId: given, by = osUser() } = flags;
  const limits = sessionLimitOptions(flags);
  if (Object.keys(limits).length === 0) {
    throw new UsageError(`There is no limit to raise: write ${ANYWHERE} session raise "${given}" --turns 50, or another of its options`);
  }
  return withRun(io, { ...flags, runId: given }, async ({ client, runId: sessionId }) => {
    const session = await sessionHandle(client, sessionId);
    const receipt = await sendWithId(flags.id, (id) => session.raise(limits, { id, ...defined({ by }) }));
    const status = await session.status();
    const now = status.session;
    output.result(
      { sessionId, id: receipt.id, status: receipt.status, limits: now?.limits ?? null },
      receipt.status === 'duplicate'
        ? `Limits had been raised by "${receipt.id}" before: nothing changes`
        : `Limits of session "${sessionId}" are raised`,
    );
    if (now !== undefined && !output.json) for (const line of factLines(sessionFacts(now, status.startTime), output)) output.note(line);
    return 0;
  });
}

/** Empties the conversation of a session, after the current turn. */
export async function resetSession(io: CommandIo, { sessionId: given, ...flags }: FlagsOf<typeof RESET_SESSION>): Promise<number> {
  return withRun(io, { ...flags, runId: given }, async ({ client, runId: sessionId }) => {
    const { beforeTurn } = await (await sessionHandle(client, sessionId)).reset();
    return io.output.result({ sessionId, beforeTurn }, `Turn ${beforeTurn} of session "${sessionId}" begins with an empty conversation`);
  });
}

/** Writes the conversation and the deps of a session as a JSON document, from which another session can begin. */
export async function saveSession(io: CommandIo, { sessionId, ...flags }: FlagsOf<typeof SAVE_SESSION>): Promise<number> {
  return withRun(io, { ...flags, runId: sessionId }, async ({ client, runId }) =>
    writeSaved(io, (await sessionHandle(client, runId)).run, flags.output),
  );
}

/** Begins a session with the conversation and the deps of a saved context. It waits for its first message. */
export async function loadSession(
  io: CommandIo,
  { sessionId, file, agent, title, ...flags }: FlagsOf<typeof LOAD_SESSION>,
): Promise<number> {
  const { output, terminal } = io;
  const saved = (await readJson(file, 'saved context', terminal)) as SavedContext;
  return withClient(io, flags, async ({ client }) => {
    await client.loadSession(agent, saved, { id: sessionId, ...defined({ title }) });
    output.result({ sessionId, agentName: agent }, `Session "${sessionId}" has begun`);
    const options = ['--session', sessionId, ...serverOptions(flags)];
    output.note(`To talk to it: ${shellCommand('chat', { operands: [agent], options, program: output.program })}`);
    return 0;
  });
}

/** Closes a session, after the current turn. */
export async function closeSession(
  io: CommandIo,
  { sessionId: given, by = osUser(), ...flags }: FlagsOf<typeof CLOSE_SESSION>,
): Promise<number> {
  const { output } = io;
  return withRun(io, { ...flags, runId: given }, async ({ client, runId: sessionId }) => {
    const session = await sessionHandle(client, sessionId);
    const { turn } = await session.close(defined({ by }));
    const text = turn === undefined ? 'is closed' : `closes after turn ${turn}, which is running`;
    return output.result({ sessionId, closed: turn === undefined, ...defined({ turn }) }, `Session "${sessionId}" ${text}`);
  });
}

/** How long a session may take to close: an idle one needs a worker for a moment. */
const CLOSING_MS = 30_000;

/**
 * Closes an idle session and removes it, with its archive and its spilled results. A session that does not exist is not an error. During
 * a turn, throws `run_open` and changes nothing, unless `end` cancels it.
 */
export async function deleteSession(io: CommandIo, { sessionId, ...flags }: FlagsOf<typeof DELETE_SESSION>): Promise<number> {
  const stores = storesIn(flags);
  return withClient(io, flags, async ({ client }) => {
    if (flags.end !== true) await closeIfIdle(client, sessionId);
    return removeRun(io, client, { kind: 'session', id: sessionId, stores, flags });
  });
}

/** The codes of a session that need not be closed. */
const CLOSED: readonly (string | undefined)[] = ['run_not_found', 'run_ended'];

async function closeIfIdle(client: LonghaulClient, sessionId: string): Promise<void> {
  try {
    const status = await client.handle(sessionId).status();
    if (isTerminal(status.status)) return;
    requireIdle(sessionId, status);
    const session = client.session(status.agentName, { id: sessionId });
    const { turn } = await session.close();
    if (turn !== undefined)
      throw new LonghaulError(
        'run_open',
        `Turn ${turn} of session "${sessionId}" has just begun, and the session closes after it: delete it again then, or with --end now`,
      );
    await session.run.result({ timeout: CLOSING_MS });
  } catch (error) {
    if (!CLOSED.includes(errorCode(error))) throw error;
  }
}

/** Throws `run_open` if a session has something to do. A run that is not a session is refused when it is closed. */
function requireIdle(sessionId: string, { session, queued, status }: StatusView): void {
  const busy =
    session?.turn !== undefined
      ? `Turn ${session.turn} of session "${sessionId}" is running`
      : queued > 0
        ? `A message to session "${sessionId}" waits`
        : session !== undefined && status !== 'idle'
          ? `Session "${sessionId}" is ${status}`
          : undefined;
  if (busy !== undefined) throw new LonghaulError('run_open', `${busy}: delete it once it is idle, or with --end now`);
}

/** Returns the handle of an existing session from only its id. Throws `run_not_found`. */
async function sessionHandle(client: LonghaulClient, sessionId: string): Promise<SessionHandle> {
  // The handle can start a session, and needs the name of the agent for that.
  const { agentName } = await client.handle(sessionId).status();
  return client.session(agentName, { id: sessionId });
}

/** The messages of one turn of a session, its answer, and its end. */
export interface Exchange {
  messages: string[];
  /** The last text of the model. Empty if there was none. */
  answer: string;
  /** Absent while the turn is running. */
  end?: TurnNote;
}

/** Returns the exchanges in a stretch of events. A turn whose messages come before the stretch is left out. */
export function exchangesOf(events: Iterable<Event>): Exchange[] {
  const exchanges: Exchange[] = [];
  let current: Exchange = { messages: [], answer: '' };
  for (const { author, content, turn, given, compaction } of events) {
    if (given || compaction !== undefined) continue;
    for (const item of content) {
      if (item.type !== 'message') continue;
      // What the model has read beside it, such as entries of the memory, is nobody's message.
      if (item.role === 'user' && author === 'user') current.messages.push(outputText(item.content));
      else if (item.role === 'assistant') current.answer = outputText(item.content);
    }
    if (turn === undefined) continue;
    if (current.messages.length > 0) exchanges.push({ ...current, end: turn });
    current = { messages: [], answer: '' };
  }
  return current.messages.length === 0 ? exchanges : [...exchanges, current];
}

/** Returns an exchange as lines: its messages after `> `, the answer, and the end of the turn unless it is an answer. */
export function exchangeLines({ messages, answer, end }: Exchange, output: Pick<Output, 'look'>): string[] {
  const ending = end === undefined || end.status === 'completed' ? undefined : turnText(end);
  return [
    ...messages.flatMap((text) =>
      printable(text)
        .split('\n')
        .map((line, index) => output.look('bold', `${index === 0 ? '>' : ' '} ${line}`)),
    ),
    ...(answer === '' ? [] : printable(answer).split('\n')),
    ...(ending === undefined ? [] : [output.look(ending.look, `(${printable(ending.text)})`)]),
  ];
}

/** The number of events from which the newest exchanges are read: a turn without calls has three. */
const READ_EVENTS = 60;

/** Reads the newest exchanges of a session with this many events. */
export async function newestExchanges(
  run: { events: (options: { from: number }) => AsyncIterable<Event> },
  { events, count }: { events: number; count: number },
): Promise<Exchange[]> {
  const read: Event[] = [];
  for await (const event of run.events({ from: Math.max(0, events - READ_EVENTS) })) read.push(event);
  return exchangesOf(read).slice(-count);
}

/** Returns the shell command that raises the limit that a session has reached, or undefined. */
export function raiseHint(
  sessionId: string,
  session: Pick<SessionView, 'turns' | 'limits' | 'spent' | 'limitReached'>,
  flags: ServerFlags,
  program: string,
): string | undefined {
  if (session.limitReached === undefined) return undefined;
  const options = [...raisedOption(session.limitReached.limit, session), ...serverOptions(flags)];
  return shellCommand('session raise', { operands: [sessionId], options, program });
}

/** Returns the option with twice the limit or twice the usage: the last turn may have used much more than was left. */
function raisedOption(
  limit: SessionLimitReached['limit'],
  { turns, limits, spent }: Pick<SessionView, 'turns' | 'limits' | 'spent'>,
): string[] {
  const flag = SESSION_LIMIT_FLAGS[limit];
  if (limit === 'deadline') return [`--${flag}`, 'none'];
  const { tokens, cost } = sessionTotals(spent);
  const used = { turns, tokens, cost }[SESSION_LIMIT_FLAGS[limit]];
  // Rounded up to cents: limits of other amounts are whole numbers.
  return [`--${flag}`, String(Math.ceil(200 * Math.max(limits[limit] ?? 0, used)) / 100)];
}
