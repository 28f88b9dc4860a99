import type { Client } from '@temporalio/client';
import { LonghaulError, UsageError } from '../../core/domain/errors/error.ts';
import { isJsonObject, type JsonObject } from '../../core/domain/json/json.ts';
import type { ContentItem, ContentPart } from '../../core/domain/content/content.ts';
import { counted } from '../../core/domain/content/text.ts';
import { BYTE_BUDGETS } from '../../core/domain/json/byte-budget.ts';
import { jsonBytes } from '../../core/domain/json/payload-limit.ts';
import { identityOf, isSame, type Principal } from '../../core/domain/run/principal.ts';
import { readSavedContext } from '../../core/saved/read-saved-context.ts';
import type { SavedContext } from '../../core/saved/saved-context.ts';
import { checkRunId } from '../../temporal/run-id.ts';
import { runNotFound } from '../../temporal/run-outcome.ts';
import { RunAccess } from '../principals/run-access.ts';
import { RunReader } from '../read/reader.ts';
import { fitMessages } from './fit-messages.ts';
import { givenMessages } from './given-messages.ts';
import { conversationState, savedContextOf } from './recorded-conversation.ts';

/** The conversation that a run begins with, if it is an earlier one: a document, or the conversation of a run that has ended. */
export type EarlierOpening =
  | {
      /** A saved context, as `save` returned it. */
      saved: SavedContext;
      /** Text, or parts if it has media. May be left out if the last message needs a response of the model. */
      input?: string | ContentPart[];
    }
  | {
      /** A run that has ended and acts for the same principal. */
      previousRunId: string;
      /** Text, or parts if it has media. May be left out if the last message needs a response of the model. */
      input?: string | ContentPart[];
    };

/** The values that a run takes over. */
export interface Earlier {
  messages: ContentItem[];
  deps: JsonObject;
  /** The limit of steps. */
  steps?: number;
  /** Texts for the person who starts the run. */
  notices: string[];
}

/** The run that is about to be started. */
interface NewRun {
  /** The name of its agent. */
  agent: string;
  principal?: Principal | undefined;
}

/**
 * Reads the conversation that a run begins with; undefined if it begins with none. Throws `invalid_input` for a document that
 * cannot be read, `run_not_found` for a run of another principal, `run_open`, and a UsageError for several conversations.
 */
export async function readEarlier(client: Client, options: Record<string, unknown>, run: NewRun): Promise<Earlier | undefined> {
  requireOneConversation('the start', options);
  const { saved, previousRunId } = options;
  if (saved !== undefined) return fitting(fromDocument(saved, run), options);
  return previousRunId === undefined ? undefined : fitting(await fromRun(client, checkRunId(previousRunId), run), options);
}

/**
 * Reads the saved context that a session begins with; undefined if it begins with none. The limit of steps of the document stays
 * behind: it is that of a whole run, and each turn of a session has the limits of its agent. Throws `invalid_input` for a document that
 * cannot be read, and a UsageError for several conversations.
 */
export function readSaved(options: Record<string, unknown>, agent: string): Omit<Earlier, 'steps'> | undefined {
  requireOneConversation('the session', options);
  const { saved } = options;
  return saved === undefined ? undefined : fitting(fromDocument(saved, { agent }), {});
}

/** Returns options with the conversation and the deps of an earlier run, if there is one. Deps of their own replace them, each by its key. */
export function withEarlier<Options extends { deps?: unknown }>(
  options: Options,
  earlier: Omit<Earlier, 'steps'> | undefined,
): Options & { deps?: unknown; messages?: readonly ContentItem[] } {
  if (earlier === undefined) return options;
  const { messages, deps } = earlier;
  const own = options.deps;
  if (own === undefined && Object.keys(deps).length === 0) return { ...options, messages };
  return { ...options, messages, deps: isJsonObject(own) ? { ...deps, ...own } : (own ?? deps) };
}

function requireOneConversation(owner: string, { messages, saved, previousRunId }: Record<string, unknown>): void {
  const given = Object.entries({ messages, saved, previousRunId }).filter(([, value]) => value !== undefined);
  if (given.length <= 1) return;
  throw new UsageError(`${owner} has several conversations, ${given.map(([name]) => `"${name}"`).join(' and ')}: give one of them`);
}

/** Returns the conversation without the oldest results of tools, if it is too large for the input of a run. */
function fitting(earlier: Earlier, { input }: Record<string, unknown>): Earlier {
  const room = BYTE_BUDGETS.startInput - (input === undefined ? 0 : jsonBytes(input));
  const { messages, evicted } = fitMessages(earlier.messages, room);
  if (evicted === 0) return earlier;
  const notice = `The conversation is too large for the start of a run: ${counted(evicted, 'result')} of tools, the oldest, became markers`;
  return { ...earlier, messages, notices: [...earlier.notices, notice] };
}

/** Returns what a run takes over from a saved context. */
export function fromDocument(saved: unknown, { agent }: NewRun): Earlier {
  const read = readSavedContext(saved);
  if (!read.ok) throw new LonghaulError('invalid_input', `The run cannot start: "saved" is no saved context: ${read.problem}`);
  const { context, warnings } = read;
  const { messages, notices } = givenMessages(context);
  const { agent_name: savedAgent, deps } = context;
  // Only a limit that the document has: the default of a document is not that of the agent.
  const steps = isJsonObject(saved) && typeof saved['max_iterations'] === 'number' ? saved['max_iterations'] : 0;
  return {
    messages,
    deps,
    ...(steps === 0 ? {} : { steps }),
    notices: [
      ...(savedAgent === null || savedAgent === agent
        ? []
        : [`The saved context is one of agent "${savedAgent}": agent "${agent}" goes on with it`]),
      ...[...warnings, ...notices].map((one) => `The saved context: ${one}`),
    ],
  };
}

async function fromRun(client: Client, runId: string, { principal }: NewRun): Promise<Earlier> {
  // A caller with a principal must not learn that a workflow which is not its own exists, not even that it is no run.
  if (principal !== undefined) await new RunAccess(client, identityOf(principal)).require(runId);
  const reader = new RunReader(client, runId);
  const { closed } = await reader.chain.newest();
  // Read afterwards: the history of a run that has ended is whole.
  const recorded = await reader.recordedRun();
  // The caller must not learn that the run of another principal exists.
  if (!isSame(principal ?? {}, recorded.principal ?? {})) throw runNotFound(client, runId);
  if (!closed)
    throw new LonghaulError('run_open', `Run "${runId}" is still going on: send it a message, or begin from it once it has ended`);
  const { deps } = conversationState(runId, recorded);
  return { ...givenMessages(savedContextOf(runId, recorded)), deps };
}
