import { UsageError } from '../../core/domain/errors/error.ts';
import { isJsonObject } from '../../core/domain/json/json.ts';
import { fromSaved } from '../earlier/begin-from.ts';
import type { SessionOptions } from './session-options.ts';

/** The options of a session that say what it begins with. */
type Beginning = Pick<SessionOptions, 'messages' | 'saved' | 'deps'>;

/**
 * Returns the options with the conversation and the deps of a saved context, and the notices about it. The deps of the options win.
 * Throws `invalid_input` for a document that cannot be read, and a UsageError for two conversations.
 */
export function withSaved<Options extends Beginning>(options: Options, agent: string): Omit<Options, 'saved'> & { notices: string[] } {
  const { saved, ...others } = options;
  if (saved === undefined) return { ...others, notices: [] };
  if (options.messages !== undefined)
    throw new UsageError('the session has several conversations, "messages" and "saved": give one of them');
  const { messages, deps, notices } = fromSaved(saved, agent);
  const own: unknown = options.deps;
  return { ...others, messages, deps: isJsonObject(own) ? { ...deps, ...own } : (own ?? deps), notices };
}
