import { argument, defineCommand, flag, option } from './define-command.ts';
import { COMMON, wholeNumber } from './options.ts';

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
  summary: 'print the agent of a run as it is pinned',
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
    "Counts runs by the server's own count: by status, or by agent or program. Agents that none of the newest 1,000 runs has are only part " +
    'of the total.',
  options: {
    by: option('<value>', 'what is counted', { choices: ['status', 'agent'] as const, default: 'status' }),
    agent: option('<name>', 'only runs of this agent or program'),
    status: COMMON.status('runs'),
    tag: option('<tag>', 'only runs that were started with this tag'),
    since: COMMON.since('runs'),
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
