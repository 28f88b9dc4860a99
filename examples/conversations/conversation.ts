// Talks with an agent, turn by turn.
import { defineAgent } from 'longhaul';
import type { LonghaulClient } from 'longhaul/client';

export const shopkeeper = defineAgent({ name: 'shopkeeper', model: 'openai/gpt-5-mini' });

export async function talk(client: LonghaulClient, chatId: string): Promise<string[]> {
  const session = client.session(shopkeeper, { id: `chat-${chatId}`, user: 'ada' });
  const first = await session.ask('Where is order 42?'); // the first message starts the session
  const second = await session.ask('And order 43?'); // the next one wakes it, days later or from another process
  await session.interrupt(); // ends the current turn, if there is one: the session takes the next message
  await session.close();
  return [first.outputText, second.outputText];
}
