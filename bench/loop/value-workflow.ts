import { proxyActivities } from '@temporalio/workflow';
import type { LoopMessage, ValueActivities } from './protocol.ts';

const { askModel, read_page: readPage } = proxyActivities<ValueActivities>({ startToCloseTimeout: '1 minute' });

/** The loop that an engineer would write first: every model call gets the whole conversation as its input. */
export async function valueLoop(prompt: string): Promise<string> {
  const conversation: LoopMessage[] = [{ role: 'user', content: prompt }];
  for (;;) {
    const answer = await askModel(conversation);
    conversation.push(answer);
    if (answer.tool_calls === undefined) return answer.content;
    for (const call of answer.tool_calls) {
      conversation.push({ role: 'tool', tool_call_id: call.id, content: await readPage(call) });
    }
  }
}
