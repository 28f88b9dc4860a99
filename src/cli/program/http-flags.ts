import type { Command } from 'commander';
import type { SessionLimitOptions } from '../../client/session-options.ts';
import type { HandlerOptions } from '../../server/server-options.ts';
import { type SessionLimitFlags, sessionLimitOptions } from '../sessions/session-limit-flags.ts';
import { amount, duration, oneMore, orNone, wholeNumber } from './argument-parsers.ts';

/** The flags that become options of the handler of the HTTP service. `none`: no limit. */
export interface HttpFlags {
  /** The origins of pages that may call. */
  allowOrigin?: string[];
  /** The requests of each caller. */
  requestsPerMinute?: number | 'none';
  /** The starts of each caller. */
  startsPerMinute?: number | 'none';
  /** The streams of a caller that are open at the same time. */
  openStreams?: number | 'none';
  chatTurns?: SessionLimitFlags['turns'];
  chatTokens?: SessionLimitFlags['tokens'];
  chatCost?: SessionLimitFlags['cost'];
  chatDeadline?: SessionLimitFlags['deadline'];
}

/** Adds these options to a command. */
export function addHttpOptions(command: Command): Command {
  const whole = orNone(wholeNumber(1));
  return command
    .option('--allow-origin <origin>', 'the origin of pages that may call, such as https://app.example; may be repeated', oneMore)
    .option('--requests-per-minute <number>', 'requests that each caller may send, or none for no limit (default: 6000)', whole)
    .option('--starts-per-minute <number>', 'runs, programs and turns that each caller may start, or none (default: 600)', whole)
    .option('--open-streams <number>', 'streams that each caller may have open, or none (default: 1000)', whole)
    .option('--chat-turns <number>', 'turns of each chat of the AI SDK, or none (default: none)', whole)
    .option('--chat-tokens <number>', 'tokens of each chat, or none (default: 200000)', whole)
    .option('--chat-cost <dollars>', "US dollars of each chat, by the worker's prices, or none", orNone(amount))
    .option('--chat-deadline <time>', 'time from the start of each chat, such as 30d, or none', orNone(duration));
}

/** Returns the options of the handler that the flags set. */
export function handlerOptions(flags: HttpFlags): Pick<HandlerOptions, 'cors' | 'limits' | 'chats'> {
  const { allowOrigin, requestsPerMinute: requests, startsPerMinute: starts, openStreams: streams } = flags;
  const chat = chatLimits(flags);
  return {
    ...(allowOrigin === undefined ? {} : { cors: { origins: allowOrigin } }),
    limits: {
      ...(requests === undefined ? {} : { requests: perMinute(requests) }),
      ...(starts === undefined ? {} : { starts: perMinute(starts) }),
      ...(streams === undefined ? {} : { streams: streams === 'none' ? false : streams }),
    },
    ...(Object.keys(chat).length === 0 ? {} : { chats: () => ({ limits: chat }) }),
  };
}

function chatLimits({ chatTurns, chatTokens, chatCost, chatDeadline }: HttpFlags): SessionLimitOptions {
  return sessionLimitOptions({
    ...(chatTurns === undefined ? {} : { turns: chatTurns }),
    ...(chatTokens === undefined ? {} : { tokens: chatTokens }),
    ...(chatCost === undefined ? {} : { cost: chatCost }),
    ...(chatDeadline === undefined ? {} : { deadline: chatDeadline }),
  });
}

function perMinute(count: number | 'none'): { count: number; per: '1m' } | false {
  return count === 'none' ? false : { count, per: '1m' };
}
