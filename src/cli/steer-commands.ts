import type { MessageMode } from '../core/domain/content.ts';
import { argument, defineCommand, flag, type FlagsOf, option, type ServerFlags, type Values } from './define-command.ts';
import { COMMON, jsonObject, jsonValue, LIMIT_OPTIONS, wholeNumber } from './options.ts';

export const APPROVALS = defineCommand({
  name: 'approvals',
  summary: 'show pending approvals',
  description:
    'Prints the calls, questions and limits that wait for a decision, with arguments, deadline, and the commands that decide them.\n' +
    'For one run, also its remembered decisions.',
  args: { runId: argument('[run]', 'the id of the run (default: all runs)') },
  options: {
    agent: option('<name>', 'only those of runs of this agent or program'),
    tool: option('<name>', 'only calls of this tool'),
    limit: option('<number>', 'at most this many', { read: wholeNumber(1) }),
    follow: flag('continue with later ones as they begin to wait, each once; with a run, until it ends', { short: 'f' }),
  },
});
export type ApprovalsFlags = FlagsOf<typeof APPROVALS>;

const DECISION_ARGUMENTS = {
  runId: COMMON.run,
  callId: argument('[call]', 'the id of the call (default: the only one that waits)'),
} as const;

const DECISION_OPTIONS = {
  by: COMMON.by('decides'),
  digest: option('<digest>', 'the digest of the arguments that the decision is about (default: those of the waiting call)', {
    manual: 'It is in `approvals --json`: if the call now has other arguments, the decision is refused',
  }),
  in: option('<run>', 'the descendant that waits, or the run itself, if calls of several runs have that id', {
    manual: '[Decisions in trees](trees.md#decisions)',
  }),
  id: COMMON.id('decision'),
} as const;

const remember = option('<calls>', 'decide further calls of the tool in the same way: all, or those with equal arguments', {
  choices: ['tool', 'arguments'] as const,
});

/** The flags that all decisions have. */
export type DecisionFlags = ServerFlags & Values<typeof DECISION_ARGUMENTS> & Values<typeof DECISION_OPTIONS>;

export const APPROVE = defineCommand({
  name: 'approve',
  summary: 'approve a waiting call',
  description: 'Lets a waiting call run, with the arguments of the model or with others. A limit is approved like a call.',
  args: DECISION_ARGUMENTS,
  options: {
    arguments: option('<json>', "run it with these arguments instead, checked against the tool's schema: a JSON object", {
      read: jsonObject,
    }),
    remember,
    ...DECISION_OPTIONS,
  },
});
export type ApproveFlags = FlagsOf<typeof APPROVE>;

export const REJECT = defineCommand({
  name: 'reject',
  summary: 'reject a waiting call',
  description: 'Rejects a waiting call: the model reads the reason, and the run continues.',
  args: DECISION_ARGUMENTS,
  options: { reason: option('<text>', 'the reason, for the model to read'), remember, ...DECISION_OPTIONS },
});
export type RejectFlags = FlagsOf<typeof REJECT>;

export const RESPOND = defineCommand({
  name: 'respond',
  summary: 'answer a question, or another call instead of its tool',
  description: 'Answers a waiting call instead of its tool, above all a question that the model asks a person.',
  args: DECISION_ARGUMENTS,
  options: {
    text: option('<text>', 'the answer, as text'),
    value: option('<json>', 'the answer, as JSON', { read: jsonValue }),
    ...DECISION_OPTIONS,
  },
});
export type RespondFlags = FlagsOf<typeof RESPOND>;

export const REVOKE = defineCommand({
  name: 'revoke',
  summary: 'end a remembered decision',
  description: 'Ends a remembered decision: it holds for no further calls. Calls that it has let run are not affected.',
  args: {
    runId: COMMON.run,
    decisionId: argument('<decision>', 'the id of the decision, as "longhaul approvals <run>" shows it'),
  },
});
export type RevokeFlags = FlagsOf<typeof REVOKE>;

export const SEND = defineCommand({
  name: 'send',
  summary: 'send a message to a run',
  description: 'Sends a message to an open run, and prints which step will read it. It is accepted once, and never lost.',
  args: { runId: COMMON.run, text: argument('<text>', 'the message; "-" reads it from stdin') },
  options: {
    mode: option(
      '<mode>',
      'when it is read: after the current step, before the next model call (waiting calls are given up), or at once (the model call in flight is aborted)',
      {
        choices: ['queue', 'steer', 'interrupt'] as const satisfies readonly MessageMode[],
        default: 'queue',
        manual: '`queue` waits also for pending calls; `steer` gives up pending calls, and calls that have not started',
      },
    ),
    id: COMMON.id('message'),
  },
});
export type SendFlags = FlagsOf<typeof SEND>;

export const PAUSE = defineCommand({
  name: 'pause',
  summary: 'pause a run',
  description: 'Lets the current step finish; then nothing more begins until the run is resumed. Waiting costs nothing.',
  args: { runId: COMMON.run },
});

export const RESUME = defineCommand({
  name: 'resume',
  summary: 'resume a paused run',
  description: 'Resumes a paused run. A run that is not paused is not affected.',
  args: { runId: COMMON.run },
});
export type PauseFlags = FlagsOf<typeof PAUSE>;

export const RAISE = defineCommand({
  name: 'raise',
  summary: 'raise limits of a run',
  description: 'Raises limits of an open run, also while it waits at one of them. Each is the new limit in all, not what is added.',
  args: { runId: COMMON.run },
  options: { ...LIMIT_OPTIONS, by: COMMON.by('raises them'), id: COMMON.id('request') },
});
export type RaiseFlags = FlagsOf<typeof RAISE>;

export const SET_PERMISSIONS = defineCommand({
  name: 'set-permissions',
  summary: 'set the permissions of a run',
  description: 'Sets the permissions of an open run, in place of those of its agent. Wider ones need the worker.',
  args: {
    runId: COMMON.run,
    permissions: argument('<permissions>', 'the permissions as JSON, such as \'{"deny": ["web_*"]}\''),
  },
  options: { by: COMMON.by('sets them'), id: COMMON.id('request') },
});
export type SetPermissionsFlags = FlagsOf<typeof SET_PERMISSIONS>;

export const CANCEL = defineCommand({
  name: 'cancel',
  summary: 'cancel a run',
  description: 'Cancels a run: calls in flight are aborted, and what was recorded is kept. The reason is in the result.',
  args: { runId: COMMON.run },
  options: { reason: option('<text>', 'the reason', { default: 'cancelled from the command line' }), by: COMMON.by('cancels') },
});
export type CancelFlags = FlagsOf<typeof CANCEL>;

export const RETRY = defineCommand({
  name: 'retry',
  summary: 'continue a run that has ended from one of its steps',
  description:
    'Continues a run that has ended from one of its steps, and prints its id. The model is called again for that step; the calls of\n' +
    'the steps before it are not made again.',
  args: { runId: COMMON.run },
  options: {
    fromStep: option('<number>', 'the step (default: the last one that the run asked the model for)', { read: wholeNumber(1) }),
  },
});
export type RetryFlags = FlagsOf<typeof RETRY>;
