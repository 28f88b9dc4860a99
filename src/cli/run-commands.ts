import { argument, defineCommand, flag, type FlagsOf, offSwitch, option } from './define-command.ts';
import { COMMON, jsonObject, jsonValue, positiveSeconds, startOptions, wholeNumber } from './options.ts';

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
  notes: 'Limits replace those of the agent. If no worker takes the run, --wait reports that within 5 seconds.',
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
export type ShowFlags = FlagsOf<typeof SHOW>;

export const TREE = defineCommand({
  name: 'tree',
  summary: 'show a run with its descendants',
  description:
    'Draws the run and all runs that it and its children have started: name, status, steps, tokens and cost of each, and the calls ' +
    'that wait for a decision. Works during the runs and after them, with and without a worker.',
  args: { runId: COMMON.run },
});
export type TreeFlags = FlagsOf<typeof TREE>;

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
export type EventsFlags = FlagsOf<typeof EVENTS>;

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
export type ResultFlags = FlagsOf<typeof RESULT>;

export const LIST = defineCommand({
  name: 'list',
  summary: 'list runs',
  description: 'Lists the runs of the namespace, newest first.',
  options: {
    agent: option('<name>', 'only runs of this agent or program'),
    status: COMMON.status('runs'),
    tag: option('<tag>', 'only runs that were started with this tag'),
    since: COMMON.since('runs'),
    waiting: option('[tool]', 'only runs that wait for a decision, or for one on a call of this tool'),
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
export type CheckFlags = FlagsOf<typeof CHECK>;

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
});
export type TraceFlags = FlagsOf<typeof TRACE>;
