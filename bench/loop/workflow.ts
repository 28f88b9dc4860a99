import { defineQuery, proxyActivities, proxyLocalActivities, setHandler } from '@temporalio/workflow';
import type { Tier } from '../sides/side.ts';
import type { LoopActivities } from './activities.ts';
import { EVENTS_QUERY, type LoopEvent, type Reference } from './protocol.ts';

const { askModel, read_page: readPage } = proxyActivities<LoopActivities>({ startToCloseTimeout: '1 minute' });

const local = proxyLocalActivities<Pick<LoopActivities, 'read_page'>>({ startToCloseTimeout: '1 minute' });

/** The loop that an engineer would write by hand, with references in place of the conversation, and no other features. */
export async function pageLoop(prompt: string, tier: Tier): Promise<string> {
  const first: LoopEvent = { id: 'prompt', message: { role: 'user', content: prompt } };
  const events = [first];
  setHandler(defineQuery<LoopEvent[], [number]>(EVENTS_QUERY), (from) => events.slice(from));
  const read = tier === 'local' ? local.read_page : readPage;
  for (;;) {
    const answer = await askModel({ ...reference(events), ...(events.length === 1 ? { fresh: events } : {}) });
    events.push(answer);
    const { message } = answer;
    if (message.role !== 'assistant') throw new TypeError(`The model answered as "${message.role}"`);
    if (message.tool_calls === undefined) return message.content;
    for (const call of message.tool_calls) events.push(await read({ ...reference(events), call }));
  }
}

function reference(events: LoopEvent[]): Reference {
  return { through: events.length, lastId: events.at(-1)?.id ?? '' };
}
