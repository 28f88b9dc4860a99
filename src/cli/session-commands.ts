import { type Command, Option } from 'commander';
import type { ChatFlags } from './chat/open-chat.ts';
import type { RunCommand } from './command.ts';
import type {
  CloseSessionFlags,
  DeleteSessionFlags,
  LoadSessionFlags,
  RaiseSessionFlags,
  ResetSessionFlags,
  SaveSessionFlags,
  SessionsFlags,
  ShowSessionFlags,
} from './commands/sessions.ts';
import { amount, duration, jsonObject, orNone, repeatable, wholeNumber } from './options.ts';
import { STATUSES } from './run-commands.ts';

/** Adds the commands about sessions: `chat`, `sessions`, and those below `session`. */
export function addSessionCommands(program: Command, run: RunCommand): void {
  addChat(program, run);
  addSessions(program, run);
  const session = program
    .command('session')
    .summary('show, raise, reset, save, load, close or delete a session')
    .description('Commands about one session. "longhaul chat" talks to one, and "longhaul sessions" lists them.');
  addShow(session, run);
  addRaise(session, run);
  addConversations(session, run);
  addEnds(session, run);
}

function addChat(program: Command, run: RunCommand): void {
  const chat = program
    .command('chat')
    .argument('<agent>', 'the name of the agent')
    .summary('talk to an agent')
    .description(
      'Talks to an agent: every line is a message, and the session keeps the conversation when you leave. Calls that need an approval\n' +
        'are decided in place. Without a terminal, reads messages from stdin, one per line, and prints the answers.',
    )
    .option('--session <session>', 'go on with this session, or begin one with this id (default: a new one)')
    .option('--title <text>', 'shown in lists of sessions')
    .option('--deps <json>', "the session's data for instructions and tools: a JSON object", jsonObject)
    .option('--model <provider/model>', "the model, instead of the agent's own")
    .option('--steps <number>', 'steps that each turn may take', wholeNumber(1))
    .option('--tag <tag>', 'a word that the session is found by; may be repeated', repeatable);
  addSessionLimits(chat)
    .addHelpText('after', '\nAll options but --session count only when the session begins.')
    .action(async (agent: string, _options: unknown, command: Command) => {
      await run(async () => (await import('./chat/chat.ts')).chat, { ...command.optsWithGlobals<ChatFlags>(), agent });
    });
}

/** Adds the options for limits of a whole session to a command. */
function addSessionLimits(command: Command): Command {
  return command
    .option('--turns <number>', 'turns of the whole session; "none" for no limit', orNone(wholeNumber(1)))
    .option('--tokens <number>', 'tokens of all turns together; "none" for no limit', orNone(wholeNumber(1)))
    .option('--cost <dollars>', 'US dollars of all turns together; "none" for no limit', orNone(amount))
    .option('--deadline <time>', 'time from the start of the session, such as 2h, 30d; "none" for no limit', orNone(duration));
}

function addSessions(program: Command, run: RunCommand): void {
  program
    .command('sessions')
    .summary('list sessions')
    .description('Lists the sessions of the namespace, newest first.')
    .option('--agent <name>', 'only sessions of this agent')
    .addOption(new Option('--status <status>', 'only sessions with this status').choices(STATUSES))
    .option('--tag <tag>', 'only sessions that were started with this tag')
    .option('--limit <number>', 'at most this many', wholeNumber(1), 20)
    .option('--query <query>', "a further condition in Temporal's list filter language")
    .action(async (_options: unknown, command: Command) => {
      await run(async () => (await import('./commands/sessions.ts')).sessions, command.optsWithGlobals<SessionsFlags>());
    });
}

function addShow(session: Command, run: RunCommand): void {
  session
    .command('show')
    .argument('<session>', 'the id of the session')
    .summary('show a session')
    .description('Prints title, agent and status of a session, its turns and amounts against its limits, what waits, and its newest turns.')
    .option('--last <number>', 'the number of turns to print', wholeNumber(1), 5)
    .action(async (sessionId: string, _options: unknown, command: Command) => {
      const flags = { ...command.optsWithGlobals<ShowSessionFlags>(), sessionId };
      await run(async () => (await import('./commands/sessions.ts')).showSession, flags);
    });
}

function addRaise(session: Command, run: RunCommand): void {
  const raise = session
    .command('raise')
    .argument('<session>', 'the id of the session')
    .summary('raise limits of a session')
    .description(
      'Raises limits of a whole session. Each is the new limit in all, not what is added. Those of a turn are those of its agent.',
    );
  addSessionLimits(raise)
    .option('--by <name>', 'who raises them (default: the name of the OS user)')
    .option('--id <id>', 'the id of the request; the same id twice is one request (default: a UUID)')
    .action(async (sessionId: string, _options: unknown, command: Command) => {
      const flags = { ...command.optsWithGlobals<RaiseSessionFlags>(), sessionId };
      await run(async () => (await import('./commands/sessions.ts')).raiseSession, flags);
    });
}

function addConversations(session: Command, run: RunCommand): void {
  session
    .command('reset')
    .argument('<session>', 'the id of the session')
    .summary('empty the conversation of a session')
    .description('Empties the conversation of a session after the turn that goes on. Its deps, limits and record stay.')
    .action(async (sessionId: string, _options: unknown, command: Command) => {
      const flags = { ...command.optsWithGlobals<ResetSessionFlags>(), sessionId };
      await run(async () => (await import('./commands/sessions.ts')).resetSession, flags);
    });
  session
    .command('save')
    .argument('<session>', 'the id of the session')
    .summary('write the conversation of a session as a document')
    .description('Writes the conversation and the deps of a session as one JSON document. "session load" begins a session from it.')
    .option('-o, --output <file>', 'write to this file instead of stdout')
    .action(async (sessionId: string, _options: unknown, command: Command) => {
      const flags = { ...command.optsWithGlobals<SaveSessionFlags>(), sessionId };
      await run(async () => (await import('./commands/sessions.ts')).saveSession, flags);
    });
  session
    .command('load')
    .argument('<session>', 'the id of the new session')
    .argument('<file>', 'a saved conversation; "-" reads it from stdin')
    .summary('begin a session with a saved conversation')
    .description('Begins a session with the conversation and the deps of a document that "save" or "session save" has written.')
    .requiredOption('--agent <name>', 'the agent of the session')
    .option('--title <text>', 'shown in lists of sessions')
    .action(async (sessionId: string, file: string, _options: unknown, command: Command) => {
      const flags = { ...command.optsWithGlobals<LoadSessionFlags>(), sessionId, file };
      await run(async () => (await import('./commands/sessions.ts')).loadSession, flags);
    });
}

function addEnds(session: Command, run: RunCommand): void {
  session
    .command('close')
    .argument('<session>', 'the id of the session')
    .summary('close a session')
    .description('Closes a session after the current turn: it takes no more messages, and its run completes.')
    .option('--by <name>', 'who closes it (default: the name of the OS user)')
    .action(async (sessionId: string, _options: unknown, command: Command) => {
      const flags = { ...command.optsWithGlobals<CloseSessionFlags>(), sessionId };
      await run(async () => (await import('./commands/sessions.ts')).closeSession, flags);
    });
  session
    .command('delete')
    .argument('<session>', 'the id of the session')
    .summary('close a session and delete it')
    .description(
      'Closes a session that is idle, and removes it from the server, and its data from the folders that you name. Nothing is changed\n' +
        'while a turn goes on, unless --end cancels it.',
    )
    .option('--end', 'cancel the session first, also while a turn goes on')
    .option('--archive <folder>', 'the folder of a file archive, to remove the session from it as well')
    .option('--payload-store <folder>', 'the folder of a file store, to remove the spilled results of the session as well')
    .action(async (sessionId: string, _options: unknown, command: Command) => {
      const flags = { ...command.optsWithGlobals<DeleteSessionFlags>(), sessionId };
      await run(async () => (await import('./commands/sessions.ts')).deleteSession, flags);
    });
}
