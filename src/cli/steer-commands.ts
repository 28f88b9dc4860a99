import type { MessageMode } from '../core/domain/content.ts';
import { argument, defineCommand, flag, type FlagsOf, option, type ServerFlags, type Values } from './define-command.ts';
import { COMMON, jsonObject, jsonValue, LIMIT_OPTIONS, wholeNumber } from './options.ts';

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
export type ApproveFlags = FlagsOf<typeof APPROVE>;

export const REJECT = defineCommand({
  name: 'reject',
  summary: 'reject a waiting call',
  description: 'Rejects a waiting call. The model reads the reason, and the run continues.',
  args: DECISION_ARGUMENTS,
  options: { reason: option('<text>', 'the reason, for the model to read'), remember, ...DECISION_OPTIONS },
});
export type RejectFlags = FlagsOf<typeof REJECT>;

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
export type RespondFlags = FlagsOf<typeof RESPOND>;

export const REVOKE = defineCommand({
  name: 'revoke',
  summary: 'end a remembered decision',
  description: 'Ends a remembered decision for all further calls. Calls that it has decided are not affected.',
  args: {
    runId: COMMON.run,
    decisionId: argument('<decision>', 'the id of the decision, as "longhaul approvals <run>" shows it'),
  },
});
export type RevokeFlags = FlagsOf<typeof REVOKE>;

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
export type SendFlags = FlagsOf<typeof SEND>;

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
export type PauseFlags = FlagsOf<typeof PAUSE>;

export const RAISE = defineCommand({
  name: 'raise',
  summary: 'raise limits of a run',
  description:
    'Raises limits of an open run, also while it waits at one of them. Each value is the new limit, not the amount that is added.',
  args: { runId: COMMON.run },
  options: { ...LIMIT_OPTIONS, by: COMMON.by('raises the limits'), id: COMMON.id('request') },
});
export type RaiseFlags = FlagsOf<typeof RAISE>;

export const SET_PERMISSIONS = defineCommand({
  name: 'set-permissions',
  summary: 'set the permissions of a run',
  description: 'Sets the permissions of an open run, in place of those of its agent. If they are wider, the worker is asked.',
  args: {
    runId: COMMON.run,
    permissions: argument('<permissions>', 'the permissions as JSON, such as \'{"deny": ["web_*"]}\''),
  },
  options: { by: COMMON.by('sets the permissions'), id: COMMON.id('request') },
});
export type SetPermissionsFlags = FlagsOf<typeof SET_PERMISSIONS>;

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
export type CancelFlags = FlagsOf<typeof CANCEL>;

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
export type RetryFlags = FlagsOf<typeof RETRY>;
