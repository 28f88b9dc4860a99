import { argument, defineCommand, flag, type FlagsOf, option } from './define-command.ts';
import { COMMON, jsonObject, repeatable, SESSION_LIMIT_OPTIONS, wholeNumber } from './options.ts';

export const CHAT = defineCommand({
  name: 'chat',
  summary: 'talk to an agent',
  description:
    'Talks to an agent: every line is a message, and the session keeps the conversation when you leave. Calls that need an approval ' +
    'are decided in the chat. Without a terminal, reads messages from stdin, one per line, and prints the answers.',
  args: { agent: argument('<agent>', 'the name of the agent') },
  options: {
    session: option('<session>', 'continue this session, or begin one with this id (default: a new one)'),
    title: COMMON.title,
    deps: option('<json>', "the session's data for instructions and tools: a JSON object", { read: jsonObject }),
    model: option('<provider/model>', "the model, instead of the agent's own"),
    steps: option('<number>', 'limit: steps that each turn may take', { read: wholeNumber(1) }),
    tag: option('<tag>', 'a word for finding the session; may be repeated', { read: repeatable }),
    ...SESSION_LIMIT_OPTIONS,
  },
  notes: 'All options except --session have an effect only when the session begins.',
});
export type ChatFlags = FlagsOf<typeof CHAT>;

export const SESSIONS = defineCommand({
  name: 'sessions',
  summary: 'list sessions',
  description:
    'Lists the sessions of the namespace: those that are open first, the newest first among them, and then the others by their end, the ' +
    'latest first.',
  options: {
    agent: option('<name>', 'only sessions of this agent'),
    status: COMMON.status('sessions'),
    tag: option('<tag>', 'only sessions that were started with this tag'),
    since: COMMON.since('sessions'),
    before: COMMON.before('sessions'),
    limit: COMMON.limit,
    query: COMMON.query,
  },
});

export const SHOW_SESSION = defineCommand({
  name: 'session show',
  summary: 'show a session',
  description:
    'Prints the title, agent and status of a session, its turns and amounts against its limits, what waits, and its newest turns.',
  args: { sessionId: COMMON.session },
  options: { last: option('<number>', 'the number of turns to print', { read: wholeNumber(1), default: 5 }) },
});

export const RAISE_SESSION = defineCommand({
  name: 'session raise',
  summary: 'raise limits of a session',
  description:
    'Raises limits of a whole session. Each value is the new limit, not the amount that is added. The limits of a turn come from the agent.',
  args: { sessionId: COMMON.session },
  options: { ...SESSION_LIMIT_OPTIONS, by: COMMON.by('raises the limits'), id: COMMON.id('request') },
});

export const RESET_SESSION = defineCommand({
  name: 'session reset',
  summary: 'empty the conversation of a session',
  description: 'Empties the conversation of a session after the current turn. Its deps, limits and record stay.',
  args: { sessionId: COMMON.session },
});

export const SAVE_SESSION = defineCommand({
  name: 'session save',
  summary: 'write the conversation of a session as a document',
  description: 'Writes the conversation and the deps of a session as one JSON document. "session load" begins a session from it.',
  args: { sessionId: COMMON.session },
  options: { output: COMMON.output },
});

export const LOAD_SESSION = defineCommand({
  name: 'session load',
  summary: 'begin a session with a saved conversation',
  description:
    'Begins a session with the conversation and the deps of a document that "save" or "session save" has written. It waits for its ' +
    'first message. An id that is taken is refused.',
  args: {
    sessionId: argument('<session>', 'the id of the new session'),
    file: argument('<file>', 'a saved conversation; "-" reads it from stdin'),
  },
  options: { agent: option('<name>', 'the agent of the session', { required: true }), title: COMMON.title },
});

export const CLOSE_SESSION = defineCommand({
  name: 'session close',
  summary: 'close a session',
  description: 'Closes a session after the current turn: it takes no more messages, and its run completes.',
  args: { sessionId: COMMON.session },
  options: { by: COMMON.by('closes the session') },
});

export const DELETE_SESSION = defineCommand({
  name: 'session delete',
  summary: 'close a session and delete it',
  description:
    'Closes an idle session, then removes it from the server, and its data from the folders that you name. During a turn nothing is ' +
    'changed, unless --end cancels it.',
  args: { sessionId: COMMON.session },
  options: {
    end: flag('cancel an open session first, even during a turn'),
    archive: option('<folder>', 'the folder of a file archive, from which the session is removed as well'),
    payloadStore: option('<folder>', 'the folder of a file store, from which the spilled results of the session are removed as well'),
  },
});
