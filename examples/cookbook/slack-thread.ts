// A thread of Slack is a session: the agent remembers it for months, and an idle thread costs nothing.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { defineAgent, defineTool, type RunContext } from 'longhaul';
import type { LonghaulClient } from 'longhaul/client';
import { z } from 'zod';

const thread = z.object({ channel: z.string(), thread: z.string() });
/** The `resources` of the worker: how it posts a message (`chat.postMessage`). */
export interface Slack {
  slack: { post: (channel: string, thread: string, text: string) => Promise<void> };
}

const reply = defineTool({
  name: 'reply',
  description: 'Writes a message into the thread. Nobody sees anything else that you say.',
  parameters: z.object({ text: z.string().min(1) }),
  resources: ['slack'],
  maxAttempts: 10, // Slack may be down for a minute
  execute: async ({ text }, { deps, resources }: RunContext<z.output<typeof thread>, Slack>) => {
    await resources.slack.post(deps.channel, deps.thread, text);
    return 'sent';
  },
});

export const helper = defineAgent({
  name: 'helper',
  model: 'openai/gpt-5-mini',
  instructions: 'You help in a thread of Slack. Answer each message once by `reply`, then end with "done".',
  deps: thread,
  tools: [reply],
});

interface Delivery {
  challenge?: string;
  event_id: string;
  event?: { channel: string; ts: string; thread_ts?: string; user?: string; bot_id?: string; text: string };
}

/** Answers Slack's events within its three seconds: the message is with the session by then, and the answer comes by `reply`. */
export async function onSlack(client: LonghaulClient, signingSecret: string, request: Request): Promise<Response> {
  const [body, time] = [await request.text(), request.headers.get('x-slack-request-timestamp') ?? ''];
  if (Math.abs(Date.now() / 1000 - Number(time)) > 300) return new Response('Too old', { status: 401 });
  if (!isSigned(`v0:${time}:${body}`, signingSecret, request)) return new Response('Wrong signature', { status: 401 });
  const { challenge, event_id: id, event } = JSON.parse(body) as Delivery;
  if (event === undefined || event.bot_id !== undefined) return new Response(challenge ?? null);
  const { channel, thread_ts: parent = event.ts, user, text } = event;
  const session = client.session(helper, { id: `slack-${channel}-${parent}`, deps: { channel, thread: parent } });
  await session.send(`${user ?? 'someone'}: ${text}`, { id }); // a delivery that Slack repeats is the same message
  return new Response(null);
}

function isSigned(signed: string, signingSecret: string, request: Request): boolean {
  const expected = Buffer.from(`v0=${createHmac('sha256', signingSecret).update(signed).digest('hex')}`);
  const given = Buffer.from(request.headers.get('x-slack-signature') ?? '');
  return given.length === expected.length && timingSafeEqual(given, expected);
}
