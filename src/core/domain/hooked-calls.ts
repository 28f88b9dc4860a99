import type { ApprovalRequirement } from './approvals.ts';
import type { ContentItem } from './content.ts';

/** Answer of the `hookedCalls` query: the response, with the arguments that its calls have by now. */
export interface HookedCalls {
  content: ContentItem[];
  problems?: Record<string, string>;
  approvals?: Record<string, ApprovalRequirement>;
}
