import { InvalidArgumentError } from 'commander';
import { RUN_SORTS } from '../client/client-options.ts';
import type { MessageMode } from '../core/domain/content.ts';
import { isScope, type Scope, SCOPES } from '../server/auth/caller.ts';
import { argument, defineCommand, flag, type FlagsOf, offSwitch, option, type ServerFlags, type Values } from './define-command.ts';
import {
  COMMON,
  duration,
  jsonObject,
  jsonValue,
  LIMIT_OPTIONS,
  positiveSeconds,
  repeatable,
  startOptions,
  wholeNumber,
} from './options.ts';

export const START = defineCommand({
  name: 'start',
  summary: 'start a run',
  description: 'Starts a run and prints its id. With --wait, prints the answer once the run has ended.',
  args: { agent: argument('<agent>', 'the name of the agent'), input: argument('[input]', 'the input; "-" reads it from stdin') },
  options: {
    inputJson: option('<json>', 'the input as JSON, if it is more than a text: a list of parts, such as [{"type":"image","url":"…"}]', {
      read: jsonValue,
      manual: 'A part that is text: `{"type": "text", "text": "What is this?"}`',
    }),
    messagesJson: option('<json>', 'the conversation before the input, as JSON: a list of messages, tool calls and results', {
      read: jsonValue,
      manual:
        'Such as `[{"type": "message", "role": "user", "content": "Hello"}, …]`. If its last item needs a response of the model, the input may be left out: see [from a conversation](starting.md#from-a-conversation)',
    }),
    load: option('<file>', 'the conversation before the input, and deps: a document that "save" has written; "-" reads it from stdin', {
      manual: 'See [`save`](#longhaul-save-run)',
    }),
    previous: option('<run>', 'the conversation before the input, and deps, of a run that has ended', {
      manual: 'See [the conversation of an earlier run](saved-contexts.md#the-conversation-of-an-earlier-run)',
    }),
    ...startOptions({ idOf: 'agent', depsFor: 'instructions and tools' }),
    model: option('<provider/model>', "the model, instead of the agent's own", {
      manual: 'See [options of one run](starting.md#options-of-one-run)',
    }),
    settings: option('<json>', "settings of the model, each instead of the agent's own: a JSON object", { read: jsonObject }),
    wait: flag('wait for the end and print the answer; the exit code says how the run ended', {
      manual: 'Meanwhile it prints what the run waits for, like `result`',
    }),
  },
  notes: "Limits replace the agent's. If no worker takes the run, --wait reports that within 5 seconds.",
});
export type StartFlags = FlagsOf<typeof START>;

export const SHOW = defineCommand({
  name: 'show',
  summary: 'show what a run has done',
  description:
    'Prints the status, usage and limits, pending approvals, the steps with their tool calls, the decisions and messages between them, ' +
    'the output and the error; for a program, its units with their steps, attempts and violations. Works during the run and after it.',
  args: { runId: COMMON.run },
  options: { full: flag('print long results, arguments and messages whole, not only their beginning') },
});

export const TREE = defineCommand({
  name: 'tree',
  summary: 'show a run with its descendants',
  description:
    'Draws the run and all runs that it and its children have started: name, status, steps, tokens and cost of each, and the calls ' +
    'that wait for a decision. Works during the runs and after them, with and without a worker.',
  args: { runId: COMMON.run },
});

export const EVENTS = defineCommand({
  name: 'events',
  summary: 'print the events of a run',
  description: 'Prints what happened in a run, event by event. Events are numbered by their offset, from 0.',
  args: { runId: COMMON.run },
  options: {
    follow: flag('then print events as they happen, until the run ends', { short: 'f' }),
    from: option('<offset>', 'the offset of the first event to print', { read: wholeNumber(0), default: 0 }),
  },
});

export const RESULT = defineCommand({
  name: 'result',
  summary: 'wait for the result of a run',
  description: 'Waits until the run has ended and prints its answer; the summary goes to stderr. The exit code says how the run ended.',
  args: { runId: COMMON.run },
  options: {
    waitTimeout: option('<seconds>', 'wait no longer than this (default: until the run has ended)', { read: positiveSeconds }),
    withSteps: flag('also print the steps'),
  },
});

export const LIST = defineCommand({
  name: 'list',
  summary: 'list runs',
  description:
    'Lists the runs of the namespace: those that have not ended first, the newest first among them, and then the others by their end, the ' +
    'latest first.',
  options: {
    agent: option('<name>', 'only runs of this agent or program'),
    status: COMMON.status('runs'),
    tag: option('<tag>', 'only runs that were started with this tag'),
    schedule: option('<schedule>', 'only runs that this Schedule of Temporal has started'),
    since: COMMON.since('runs'),
    before: COMMON.before('runs'),
    waiting: option('[tool]', 'only runs that wait for a decision, or for one on a call of this tool'),
    amounts: flag('also print steps, tokens and cost, for which each run is read'),
    sort: option('<order>', "the server's order (default), or by what the runs have used, largest first", {
      choices: RUN_SORTS,
      manual: 'Other orders than the first put the first 1,000 runs of that order that match in order',
    }),
    limit: COMMON.limit,
    query: COMMON.query,
  },
});
export type ListFlags = FlagsOf<typeof LIST>;

export const CHECK = defineCommand({
  name: 'check',
  summary: 'check a program',
  description:
    'Prints all problems of a program at once, each with its path in the document, and the warnings. Nothing is run, and no server ' +
    'is needed.',
  args: { file: argument('<file>', 'a JSON document with a program ("-" reads it from stdin), or a module that exports programs') },
  options: {
    agents: option(
      '<module>',
      'also check the names of tools, agents, programs, anchors, models and memory against what a worker with this module has, and literal arguments against the schemas of its tools',
      { short: 'a' },
    ),
  },
});

export const RUN = defineCommand({
  name: 'run',
  summary: 'run a program',
  description: 'Starts the run of a program, waits for its end and prints its output. With --no-wait, prints the id of the run.',
  args: { target: argument('<program>', 'the name of a program that a worker has, or a file as for "check", whose document is sent') },
  options: {
    inputJson: option('<json>', 'the input: a JSON object', { read: jsonObject }),
    inputFile: option('<file>', 'the input, from a JSON file; "-" reads it from stdin'),
    program: option('<name>', 'the program to run, if the module exports several'),
    resume: option(
      '<run>',
      'reuse the results of an earlier run of the same or an edited program, at no cost, wherever the definition and inputs of a step are the same',
    ),
    from: option('<unit.step>', 'with --resume: reuse only the results before this step'),
    ...startOptions({ idOf: 'program', depsFor: 'tools' }),
    wait: offSwitch('print the id of the run, and do not wait for its end', {
      manual: 'With `--json`: `{runId, program, taskQueue, uiUrl?}`',
    }),
  },
  notes: 'If no worker takes the run, that is reported within 5 seconds.',
});
export type RunFlags = FlagsOf<typeof RUN>;

export const TRACE = defineCommand({
  name: 'trace',
  summary: 'print the trace of a run',
  description:
    'Prints what a run has done as a tree: for a program, its units and blocks with their steps, model calls, checks and further ' +
    'attempts; for an agent, its steps with their model calls, tool calls and waits for decisions. Works during the run and after it, ' +
    'with and without a worker.',
  args: { runId: COMMON.run },
  options: {
    export: flag('print the spans of the run for an OpenTelemetry collector', {
      manual:
        'Those that follow from the record, with the ids that workers give them, as the body of a request to `/v1/traces` (OTLP in ' +
        'JSON). Spans of model calls and tool calls that have ended are left out without `--calls` ([telemetry](telemetry.md#spans))',
    }),
    calls: flag('with "--export": also the calls that have ended', {
      manual:
        'As far as the histories have them, with the times of the server: for a trace whose worker was killed before it could send them. ' +
        'A span that the worker has sent has other times ([telemetry](telemetry.md#spans))',
    }),
  },
});

export const APPROVALS = defineCommand({
  name: 'approvals',
  summary: 'show pending approvals',
  description:
    'Prints the calls, questions and limits that wait for a decision, with their arguments, deadlines, and the commands that decide ' +
    'them. For one run, also prints its remembered decisions.',
  args: { runId: argument('[run]', 'the id of the run (default: all runs)') },
  options: {
    agent: option('<name>', 'only approvals of runs of this agent or program'),
    tool: option('<name>', 'only approvals of calls of this tool'),
    limit: option('<number>', 'print at most this many', { read: wholeNumber(1) }),
    follow: flag('also print approvals as they become pending, each once, until Ctrl-C; for one run, until it ends', { short: 'f' }),
  },
});
export type ApprovalsFlags = FlagsOf<typeof APPROVALS>;

const DECISION_ARGUMENTS = {
  runId: COMMON.run,
  callId: argument('[call]', 'the id of the call (default: the only one that waits)'),
} as const;

const DECISION_OPTIONS = {
  by: COMMON.by('decides'),
  digest: option(
    '<digest>',
    'the digest of the call that you have seen: if the call now has other arguments, the decision is refused (default: the current digest)',
    { manual: '`approvals --json` prints it' },
  ),
  in: option('<run>', 'the run that waits, if calls of several runs of the tree have this id: a descendant, or the run itself', {
    manual: 'See [decisions in trees](trees.md#decisions)',
  }),
  id: COMMON.id('decision'),
} as const;

const remember = option('<calls>', 'decide further calls in the same way: all calls of the tool, or those with equal arguments', {
  choices: ['tool', 'arguments'] as const,
});

/** The flags that all decisions have. */
export type DecisionFlags = ServerFlags & Values<typeof DECISION_ARGUMENTS> & Values<typeof DECISION_OPTIONS>;

export const APPROVE = defineCommand({
  name: 'approve',
  summary: 'approve a waiting call',
  description:
    'Lets a waiting call run, with the arguments of the model or with others. A limit that the run has reached is approved like a call.',
  args: DECISION_ARGUMENTS,
  options: {
    arguments: option('<json>', "run the call with these arguments instead, which must fit the tool's schema: a JSON object", {
      read: jsonObject,
    }),
    remember,
    ...DECISION_OPTIONS,
  },
});

export const REJECT = defineCommand({
  name: 'reject',
  summary: 'reject a waiting call',
  description: 'Rejects a waiting call. The model reads the reason, and the run continues.',
  args: DECISION_ARGUMENTS,
  options: { reason: option('<text>', 'the reason, for the model to read'), remember, ...DECISION_OPTIONS },
});

export const RESPOND = defineCommand({
  name: 'respond',
  summary: 'answer a question, or another call in place of its tool',
  description: 'Answers a waiting call in place of its tool: usually a question that the model asks a person.',
  args: DECISION_ARGUMENTS,
  options: {
    text: option('<text>', 'the answer, as text'),
    value: option('<json>', 'the answer, as JSON', { read: jsonValue }),
    ...DECISION_OPTIONS,
  },
});

export const REVOKE = defineCommand({
  name: 'revoke',
  summary: 'end a remembered decision',
  description: 'Ends a remembered decision for all further calls. Calls that it has decided are not affected.',
  args: {
    runId: COMMON.run,
    decisionId: argument('<decision>', 'the id of the decision, as "longhaul approvals <run>" shows it'),
  },
});

export const SEND = defineCommand({
  name: 'send',
  summary: 'send a message to a run',
  description: 'Sends a message to an open run, and prints which step will read it. The message is accepted once, and never lost.',
  args: { runId: COMMON.run, text: argument('<text>', 'the message; "-" reads it from stdin') },
  options: {
    mode: option(
      '<mode>',
      'when it is read: after the current step; before the next model call, giving up waiting calls; or at once, also aborting the model call in flight',
      {
        choices: ['queue', 'steer', 'interrupt'] as const satisfies readonly MessageMode[],
        default: 'queue',
        manual:
          '`queue` waits for all calls of the step, also for pending ones; `steer` gives up pending calls, and calls that have not started; so does `interrupt`',
      },
    ),
    id: COMMON.id('message'),
  },
});

export const PAUSE = defineCommand({
  name: 'pause',
  summary: 'pause a run',
  description: 'Lets the current step finish; then nothing more begins until the run is resumed. A paused run costs nothing.',
  args: { runId: COMMON.run },
});

export const RESUME = defineCommand({
  name: 'resume',
  summary: 'resume a paused run',
  description: 'Resumes a paused run. Does nothing to a run that is not paused.',
  args: { runId: COMMON.run },
});

export const RAISE = defineCommand({
  name: 'raise',
  summary: 'raise limits of a run',
  description:
    'Raises limits of an open run, also while it waits at one of them. Each value is the new limit, not the amount that is added.',
  args: { runId: COMMON.run },
  options: { ...LIMIT_OPTIONS, by: COMMON.by('raises the limits'), id: COMMON.id('request') },
});
export type RaiseFlags = FlagsOf<typeof RAISE>;

export const CANCEL = defineCommand({
  name: 'cancel',
  summary: 'cancel a run',
  description: 'Cancels a run: calls in flight are aborted, and the record so far is kept. The reason is in the result.',
  args: { runId: COMMON.run },
  options: {
    reason: option('<text>', 'the reason, for the result and the history', { default: 'cancelled from the command line' }),
    by: COMMON.by('cancels the run'),
  },
});

export const RETRY = defineCommand({
  name: 'retry',
  summary: 'continue a run that has ended from one of its steps',
  description:
    'Continues a run that has ended from one of its steps, and prints its id. The model is called again for that step; calls of ' +
    'earlier steps are not made again.',
  args: { runId: COMMON.run },
  options: {
    fromStep: option('<number>', 'the step to continue from (default: the last one that called the model)', { read: wholeNumber(1) }),
  },
});

export const EXPORT = defineCommand({
  name: 'export',
  summary: 'write a whole run, or everything of a user, as JSON Lines',
  description:
    'Writes the whole record of a run, across all its executions, as JSON Lines; the last line lists what is missing. Works during the ' +
    'run and after it, with and without a worker. Without a run: everything of the user that --user and --tenant name, to a folder. It ' +
    'has what "forget" would remove, changes nothing, and continues in the folder of an interrupted export.',
  args: { runId: argument('[run]', 'the id of the run (default: everything of the user that --user and --tenant name)') },
  options: {
    output: option('<path>', 'write to this file instead of stdout; for a user, to this folder, which is required', {
      short: 'o',
      manual: 'A file appears when it is complete',
    }),
    archive: option('<folder>', 'the folder of a file archive, for the events that the server has removed'),
    payloadStore: option('<folder>', 'for a user: the folder of a file store, for results that were spilled'),
    memory: option('<file>', 'for a user: the file of a SQLite memory, or of a file memory (.json)'),
    without: option('<stores>', 'for a user: the stores that no worker has, separated by commas: archive, payload-store, memory'),
  },
});

export const SAVE = defineCommand({
  name: 'save',
  summary: 'write the conversation of a run as a document',
  description:
    'Writes the context of a run as one JSON document: the conversation that the model sees, deps and counters. "start --load" begins a ' +
    'run from it. Works during the run and after it, with and without a worker.',
  args: { runId: COMMON.run },
  options: { output: COMMON.output },
});

export const DELETE = defineCommand({
  name: 'delete',
  summary: 'delete a run and its descendants',
  description: 'Removes all executions of a run and of its descendants from the server, and their data from the folders that you name.',
  args: { runId: COMMON.run },
  options: {
    end: flag('cancel the run and its descendants first, if they are open; without it, open ones are not removed'),
    archive: option('<folder>', 'the folder of a file archive, from which the run is removed as well'),
    payloadStore: option('<folder>', 'the folder of a file store, from which the spilled results of the run are removed as well'),
  },
});
export type DeleteFlags = FlagsOf<typeof DELETE>;

export const FORGET = defineCommand({
  name: 'forget',
  summary: 'remove everything of the user that --user and --tenant name',
  description:
    'Ends the runs and sessions of a user, and removes them and their descendants from the server and from the stores that you name, ' +
    'and the entries of the user from the memory. May be repeated, and finishes what an interrupted call has left. Name all stores of ' +
    'your workers: once the runs are removed, nothing leads to what is in a store.',
  options: {
    archive: option('<folder>', 'the folder of a file archive'),
    payloadStore: option('<folder>', 'the folder of a file store'),
    memory: option('<file>', 'the file of a SQLite memory, or of a file memory (.json)'),
    streams: option('<url>', 'the address of the Redis that carries live output, such as redis://127.0.0.1:6379'),
    without: option('<stores>', 'the stores that no worker has, separated by commas: archive, payload-store, memory, streams'),
    yes: flag(
      'remove; without it, the runs are counted, the stores that are named and those that are not are listed, and nothing is changed',
      { manual: 'Exit code 2 without it' },
    ),
  },
});

export const REPLAY = defineCommand({
  name: 'replay',
  summary: 'replay recorded runs with your current code',
  description:
    'Replays the histories of runs with your current workflow code, and reports the first difference of each run that would get stuck ' +
    'with it. Nothing is executed or changed: no worker, no agents and no model are needed.',
  args: {
    paths: argument(
      '[histories...]',
      'files of histories (*.json), and folders of them; no server is needed (default: runs of the server)',
      {
        manual: '`--save` and `temporal workflow show --output json` write such files',
      },
    ),
  },
  options: {
    workflows: option('<module>', 'the module of your own workflows, if your worker has one', { short: 'w' }),
    agent: option('<name>', 'only runs of this agent'),
    type: option('<workflow>', 'your own workflows of this type, instead of runs of agents'),
    query: COMMON.query,
    limit: option('<number>', 'replay at most this many runs, the newest first', { read: wholeNumber(1), default: 20 }),
    save: option(
      '<folder>',
      'keep the histories as files in this folder, with payloads as the server has them, to replay them without a server',
    ),
  },
});
export type ReplayFlags = FlagsOf<typeof REPLAY>;

/** The options that name a part of a memory. The tenant and the user come from the command. */
const MEMORY_OPTIONS = {
  memory: option('<file>', 'the file of a SQLite memory, or of a file memory (.json)', { required: true }),
  agent: option('<name>', 'the agent whose memory it is, or the name that several agents share'),
  scope: option('<name>', 'the scope of programs whose memory it is, instead of an agent'),
} as const;

export const LIST_MEMORY = defineCommand({
  name: 'memory list',
  summary: 'list entries',
  description: 'Lists the entries of a memory by their keys. Without --user and --tenant: the entries of runs without a principal.',
  options: MEMORY_OPTIONS,
});

export const FORGET_MEMORY = defineCommand({
  name: 'memory forget',
  summary: 'forget entries',
  description:
    'Removes one entry, all entries of an agent or a scope, or, without either, all of the user. "longhaul forget" also removes runs.',
  options: { ...MEMORY_OPTIONS, key: option('<key>', 'only the entry with this key') },
});

const file = option('<file>', 'the file of the keys (default: LONGHAUL_KEYS_FILE, then ./longhaul-keys.json)');

export const CREATE_KEY = defineCommand({
  name: 'keys create',
  summary: 'create an API key',
  description:
    'Creates an API key and prints it, once. The key acts for --tenant and --user, or with "--principal all" reaches the runs of all of them.',
  options: {
    file,
    name: option('<name>', 'the purpose of the key, for people', { required: true }),
    scope: option('<scope>', 'a right of the key; may be repeated', {
      required: true,
      choices: SCOPES,
      read: readScope,
      manual: 'The key acts for `--tenant` and `--user`',
    }),
    principal: option('<principal>', 'the key reaches the runs of all tenants and users; required without --tenant and --user', {
      choices: ['all'],
    }),
    agent: option(
      '<name>',
      'an agent or program that the key may start, and whose runs it may change, by messages, decisions and so on; reading is not limited by it; may be repeated (default: all)',
      { read: repeatable },
    ),
    expires: option('<time>', 'the time after which the key expires, such as 12h or 30d (default: never)', { read: duration }),
  },
});

function readScope(text: string, before: readonly Scope[] = []): Scope[] {
  if (isScope(text)) return [...before, text];
  throw new InvalidArgumentError(`Allowed choices are ${SCOPES.join(', ')}.`);
}

export const LIST_KEYS = defineCommand({
  name: 'keys list',
  summary: 'list API keys',
  description: 'Lists the API keys with their rights, in the order of their creation.',
  options: { file },
});

export const REVOKE_KEY = defineCommand({
  name: 'keys revoke',
  summary: 'revoke an API key',
  description: 'Revokes an API key: servers that read the file refuse it from their next request on.',
  args: { keyId: argument('<key>', 'the id of the key, as "longhaul keys list" shows it') },
  options: { file },
});

export const TIMELINE = defineCommand({
  name: 'timeline',
  summary: 'show where the time of a run went',
  description:
    'Prints the time of a run by kind (model, tools, people, waits for a worker and so on), and its spans: each from its request, with the ' +
    'failures of its attempts. Made from the history alone, during the run and after it, with and without a worker.',
  args: { runId: COMMON.run },
  options: {
    tree: flag('also the timelines of all descendants'),
    full: flag("also Longhaul's own activities and workflow tasks"),
  },
});

export const SNAPSHOT = defineCommand({
  name: 'snapshot',
  summary: 'print the pinned agent of a run',
  description:
    'Prints the agent that a run is pinned to, as JSON: instructions, tools with their schemas, settings, limits. Of a run that was handed ' +
    'over, that is the agent that acts now.',
  args: { runId: COMMON.run },
  options: { at: option('<offset>', 'the agent that acted at this offset of the record', { read: wholeNumber(0) }) },
});

export const CALL = defineCommand({
  name: 'call',
  summary: 'show one call of a run, whole',
  description: 'Prints one tool call as JSON: its whole arguments, its schema, the decisions about it, and its result.',
  args: { runId: COMMON.run, callId: argument('<call>', 'the id of the call') },
});

export const REQUEST = defineCommand({
  name: 'request',
  summary: 'show what the model was asked in a step',
  description:
    'Prints the request of a step as JSON, built from the history by the code of the worker. What the history does not hold is named under ' +
    '"unknown".',
  args: { runId: COMMON.run, step: argument('<step>', 'the number of the step') },
  options: {
    diff: flag('only how it differs from the request of the step before, and what a prompt cache can use'),
    agents: option('<module>', 'the module of your agents, whose providers say how the request goes over the wire', { short: 'a' }),
  },
});

export const FEED = defineCommand({
  name: 'feed',
  summary: 'print what happens in all runs, as it happens',
  description:
    'Prints a line for each run that starts, waits for a decision, waits no more, or ends, until Ctrl-C. Begins with the runs that wait.',
  options: {
    agent: option('<name>', 'only runs of this agent or program'),
    waiting: flag('only runs that wait, and those that wait no more'),
  },
});

export const COUNTS = defineCommand({
  name: 'counts',
  summary: 'count runs by their status or their agent',
  description:
    "Counts runs by status, or by agent or program, with the server's count. Agents without one of the first 1,000 runs are only part " +
    'of the total.',
  options: {
    by: option('<value>', 'what is counted', { choices: ['status', 'agent'] as const, default: 'status' }),
    agent: option('<name>', 'only runs of this agent or program'),
    status: COMMON.status('runs'),
    tag: option('<tag>', 'only runs that were started with this tag'),
    since: COMMON.since('runs'),
    before: COMMON.before('runs'),
    query: COMMON.query,
  },
});

export const TURNS = defineCommand({
  name: 'session turns',
  summary: 'list the turns of a session',
  description: 'Lists the turns of a session, the oldest first, with the beginnings of their questions and answers.',
  args: { sessionId: COMMON.session },
  options: {
    from: option('<turn>', 'the first turn to print', { read: wholeNumber(1), default: 1 }),
    limit: COMMON.limit,
  },
});
