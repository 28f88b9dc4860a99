import { Inbox } from '../../../../src/core/kernel/inbox.ts';
import type { AllPorts } from '../../../../src/core/capabilities.ts';

/** The ports of a run without requests and with an unlimited history: for runs outside of a workflow. */
export function quietPorts(): Pick<
  AllPorts,
  | 'verify'
  | 'reevaluateApproval'
  | 'runSegment'
  | 'reviewCalls'
  | 'afterCall'
  | 'resolveHandoff'
  | 'switchAgent'
  | 'runChild'
  | 'childRunId'
  | 'summarize'
  | 'askAtPoint'
  | 'abortModelCall'
  | 'authorize'
  | 'notify'
  | 'cancelRequested'
  | 'inbox'
  | 'until'
  | 'continueDue'
  | 'allows'
> {
  return {
    verify: (_, reason) => Promise.resolve({ type: 'lost', reason }),
    reevaluateApproval: () => Promise.resolve(undefined),
    runSegment: () => Promise.resolve({ type: 'failed', message: 'the run has no code' }),
    reviewCalls: () => Promise.resolve({}),
    afterCall: (_, outcome) => Promise.resolve(outcome),
    resolveHandoff: (name) => Promise.resolve({ type: 'failed', code: 'unknown_agent', message: `there is no agent "${name}" here` }),
    switchAgent: () => undefined,
    runChild: () => Promise.resolve({ type: 'failed', code: 'child_failed', message: 'the run starts no children', unstarted: true }),
    childRunId: (prefix) => prefix,
    summarize: () => Promise.resolve({ type: 'failed', code: 'internal', message: 'nothing here summarizes' }),
    askAtPoint: () => Promise.resolve({ type: 'failed', code: 'internal', message: 'nothing here checks' }),
    abortModelCall: () => undefined,
    authorize: () => Promise.resolve({ type: 'refused', reason: 'no caller may decide here' }),
    notify: () => Promise.resolve({ type: 'notified' }),
    cancelRequested: () => false,
    inbox: new Inbox(),
    until: () => Promise.reject(new Error('a run that waits needs its own ports')),
    continueDue: () => false,
    allows: () => true,
  };
}
