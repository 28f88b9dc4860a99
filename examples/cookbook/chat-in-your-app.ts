// A page with `useChat` talks to an agent through the routes of your own application, which needs no service of Longhaul.
import { type Context, Hono } from 'hono';
import type { LonghaulClient, SessionHandle } from 'longhaul/client';
import { toProblemResponse, toUIMessages, toUIMessageStreamResponse } from 'longhaul/ai-sdk';

/** Returns the user who is signed in. Yours: it also refuses pages of other origins. */
type UserOf = (request: Request) => Promise<string | undefined>;
type Env = { Variables: { user: string } };

/** The routes that the page calls, with `new DefaultChatTransport({ api: '/api/chat' })`. */
export function chatRoutes(client: LonghaulClient, userOf: UserOf): Hono<Env> {
  const app = new Hono<Env>();
  app.use('/api/chat/*', async (c, next) => {
    const user = await userOf(c.req.raw);
    if (user === undefined) return c.text('Sign in first', 401);
    c.set('user', user);
    return next();
  });

  // The page gets the problem and its status, for example if a session does not exist yet or a `limit` is 0.
  app.onError((error) => toProblemResponse(error));

  // A user reaches no session of another user: `user` is checked on the server, whatever the id.
  const chat = (c: Context<Env>, id = c.req.param('id')): SessionHandle => {
    const user = c.get('user');
    return client.session('clerk', { id: `chat-${user}-${id}`, user, limits: { turns: 200, totalTokens: 2_000_000 } });
  };

  // A message, or decisions about calls: the answer is the stream of the turn.
  app.post('/api/chat', async (c) => {
    const posted: { id?: string } = await c.req.json();
    return toUIMessageStreamResponse(chat(c, posted.id), { posted, decideAs: c.get('user'), signal: c.req.raw.signal });
  });

  // The answer in progress, after a reload (`resume: true`): 204 if there is none.
  app.get('/api/chat/:id/stream', (c) => toUIMessageStreamResponse(chat(c), { decideAs: c.get('user'), signal: c.req.raw.signal }));

  // The newest messages, for a page that opens the chat, or those before a turn: `?before=12&limit=50`.
  app.get('/api/chat/:id', async (c) => {
    const asked = Object.entries(c.req.query()).filter(([name]) => name === 'before' || name === 'limit');
    return c.json(await toUIMessages(chat(c), Object.fromEntries(asked.map(([name, value]) => [name, Number(value)]))));
  });

  // A page that goes ends nothing. This ends the turn.
  app.post('/api/chat/:id/stop', async (c) => c.json(await chat(c).interrupt({ by: c.get('user'), reason: 'stopped in the chat' })));
  return app;
}
