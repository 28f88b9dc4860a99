import type { ApprovalView } from '../../../core/domain/approvals.ts';
import { LonghaulError, UsageError } from '../../../core/domain/errors.ts';
import { isForUsers } from '../../auth/caller.ts';

/**
 * The user of a page, who decides about calls of tools and answers questions, and about nothing else. Or a function of the call that waits,
 * which returns the name of the user who decides about it, and undefined if someone else does.
 */
export type DecideAs = string | ((approval: ApprovalView) => string | undefined);

/** Who decides about the calls of a chat, as far as its page is concerned. */
export interface PageDecisions {
  /** Throws `forbidden` if the page decides about no calls at all. */
  require: () => void;
  /** Returns the name of the user of the page who decides about the call; undefined if someone else does. */
  by: (approval: ApprovalView) => string | undefined;
}

/** Returns who decides according to the option `decideAs`. */
export function pageDecisions(decideAs: DecideAs | undefined): PageDecisions {
  return {
    require() {
      if (decideAs !== undefined) return;
      throw new LonghaulError('forbidden', 'The page may not decide about calls: its route names no "decideAs"');
    },
    by(approval) {
      if (typeof decideAs !== 'function') return isForUsers(approval.kind) ? decideAs : undefined;
      const by: unknown = decideAs(approval);
      if (by === undefined || (typeof by === 'string' && by !== '')) return by;
      const got = by instanceof Promise ? 'a promise' : JSON.stringify(by);
      throw new UsageError(`"decideAs" returned ${got}: return the name of the user who decides, or undefined if someone else does`);
    },
  };
}
