import type { AssistantMessage, PageCall } from '../script/scripted-run.ts';
import type { LoopMessage } from '../loop/protocol.ts';

/** The workflow type of the loop by value. */
export const VALUE_LOOP = 'valueLoop';

/** The activities of the loop by value, by their activity types. */
export interface ValueActivities {
  /** An input with the whole conversation. */
  askModel(conversation: LoopMessage[]): Promise<AssistantMessage>;
  read_page(call: PageCall): Promise<string>;
}
