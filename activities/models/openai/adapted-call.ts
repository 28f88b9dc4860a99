import { createHash } from 'node:crypto';
import { APIError } from 'openai';
import { cutText } from '../../../src/core/domain/byte-budgets.ts';
import type { ModelCallError } from '../../../src/core/domain/errors.ts';
import { isJsonObject } from '../../../src/core/domain/json.ts';
import type { ModelRequest, ModelResponse } from '../../../src/core/domain/model.ts';
import type { Notice } from '../../../src/core/domain/run.ts';
import { readErrorBody, ReportedFault, shallowBody } from '../errors/error-body.ts';
import type { OpenAICapabilities } from './capabilities.ts';
import { CHAT, type Dialect, type Item, listOf, RESPONSES } from './message-order.ts';
import { partsDigest } from './opaque-parts.ts';
import { type Api, type Body, holds, matches, REFUSED_PARTS, REQUEST_RULES } from './request-rules.ts';

/** The most requests of one call that a server may refuse: each one differs from all before. */
const MOST_REFUSALS = 12;

/** The most models whose servers are known at once, and the most refused parts of each. */
const MOST_MODELS = 200;
const MOST_REFUSED_PARTS = 1_000;

/** The characters of a refusal that are read. */
const REFUSAL_LENGTH = 8_192;

/** What a process has learned about the server of a model. */
interface Learned {
  capabilities: Partial<OpenAICapabilities>;
  /** Digests of the opaque parts that the provider refuses. */
  refusedParts: Set<string>;
}

/** What the body of a call is built from. */
interface BuiltCall {
  request: ModelRequest;
  /** The capabilities as they are declared. */
  capabilities: OpenAICapabilities;
  /** The fingerprint of the account that makes the call. */
  account: string;
  build(request: ModelRequest, capabilities: OpenAICapabilities): Body;
}

/** One call of a model, as it is adapted to its server. */
interface AdaptedCall extends BuiltCall {
  send(body: Body): Promise<ModelResponse>;
  /** True once a part of the answer has arrived: nothing is sent again then. */
  isAnswering(): boolean;
  /** The error for one that was thrown. */
  classify(error: unknown): ModelCallError;
}

/** A step by which a call was adapted. */
interface Adaptation {
  says: string;
  capabilities?: Partial<OpenAICapabilities>;
  refusedParts?: readonly string[];
  /** It is a guess, which is forgotten unless the server takes the request. */
  isGuess?: true;
}

/** What servers have taught a client, by the name of the model. It is kept as long as the process. */
export class LearnedRules {
  /** The most recently used last. */
  readonly #models = new Map<string, Learned>();

  /**
   * Sends a request, and sends it again in another form each time that the server refuses it for a reason that can be mended: never
   * unchanged. Rejects with the error that was thrown last, or, if guesses have not helped, with the one that no rule explains.
   */
  async call(call: AdaptedCall): Promise<ModelResponse> {
    const learned = this.#of(call.request.model);
    const notices: Notice[] = [];
    const guesses: Adaptation[] = [];
    const sent = new Set<string>();
    let unexplained: unknown;
    for (;;) {
      const body = bodyOf(call, learned, guesses);
      try {
        const answer = await call.send(body);
        for (const guess of guesses) remember(learned, guess);
        return { ...answer, ...(notices.length === 0 ? {} : { notices: [...(answer.notices ?? []), ...notices] }) };
      } catch (error) {
        // A body as large as the conversation is digested only if there may be another one to compare it with.
        sent.add(digestOf(body));
        const refusal = call.isAnswering() || sent.size >= MOST_REFUSALS ? undefined : refusalOf(error, call);
        const isNew = (adaptation: Adaptation): boolean => !sent.has(digestOf(bodyOf(call, learned, [...guesses, adaptation])));
        const next = refusal === undefined ? undefined : adaptationTo(refusal, call, learned, guesses).find(isNew);
        if (refusal === undefined || next === undefined) {
          // An overloaded server has not refused the guess: the next attempt begins with it.
          if (refusal === undefined && !call.isAnswering()) for (const guess of guesses) remember(learned, guess);
          throw refusal === undefined ? error : (unexplained ?? error);
        }
        if (next.isGuess) {
          guesses.push(next);
          unexplained ??= error;
        } else remember(learned, next);
        notices.push({
          code: 'request_adapted',
          message: `The server refused the request, so ${next.says}. ${cutText(refusal.message, 200)}`,
        });
      }
    }
  }

  /** Returns the body that a call begins with, by what its server has taught so far. */
  bodyOf(call: BuiltCall): Body {
    return bodyOf(call, this.#models.get(call.request.model) ?? { capabilities: {}, refusedParts: new Set() }, []);
  }

  #of(model: string): Learned {
    const learned = this.#models.get(model) ?? { capabilities: {}, refusedParts: new Set() };
    this.#models.delete(model);
    this.#models.set(model, learned);
    const [oldest] = this.#models.keys();
    if (oldest !== undefined && this.#models.size > MOST_MODELS) this.#models.delete(oldest);
    return learned;
  }
}

function remember(learned: Learned, { capabilities, refusedParts = [] }: Adaptation): void {
  Object.assign(learned.capabilities, capabilities);
  for (const digest of refusedParts) learned.refusedParts.add(digest);
  for (const digest of learned.refusedParts) {
    if (learned.refusedParts.size <= MOST_REFUSED_PARTS) break;
    learned.refusedParts.delete(digest);
  }
}

function capabilitiesOf({ capabilities }: BuiltCall, learned: Learned, guesses: readonly Adaptation[]): OpenAICapabilities {
  return guesses.reduce((all, guess) => ({ ...all, ...guess.capabilities }), { ...capabilities, ...learned.capabilities });
}

/** Returns the body of a request, with the opaque parts of this account that its provider has not refused. */
function bodyOf(call: BuiltCall, learned: Learned, guesses: readonly Adaptation[]): Body {
  const refused = new Set([...learned.refusedParts, ...guesses.flatMap(({ refusedParts = [] }) => refusedParts)]);
  const conversation = call.request.conversation.map((event) => {
    if (event.providerItems === undefined) return event;
    const { providerItems, account, ...rest } = event;
    const isKept = account === call.account && !refused.has(partsDigest(providerItems));
    return isKept ? { ...rest, providerItems } : rest;
  });
  return call.build({ ...call.request, conversation }, capabilitiesOf(call, learned, guesses));
}

function digestOf(body: Body): string {
  return createHash('sha256').update(JSON.stringify(body)).digest('base64url');
}

/** What a server says about a request that it does not take. */
interface Refusal {
  /** The message alone, then the whole error: it may repeat a part of the conversation, and is read if the message explains nothing. */
  texts: readonly string[];
  /** The error as the run would report it. */
  message: string;
  /** The request itself is refused, and no parameter outside of the conversation is named as the cause. */
  isOfConversation: boolean;
}

/** Returns what a server refuses; undefined for errors of any other kind. */
function refusalOf(error: unknown, call: AdaptedCall): Refusal | undefined {
  const raw: unknown = error instanceof ReportedFault ? error.body : error instanceof APIError ? error.error : undefined;
  if (raw === undefined) return undefined;
  const body = shallowBody(raw);
  const { code, message } = call.classify(error);
  const isBadRequest = code === 'model_bad_request' || code === 'model_unprocessable';
  const texts = [readErrorBody(body).message, JSON.stringify(body) ?? ''].map(readable);
  // Routers that have no server for the request answer 404, and templates of conversations fail with 500.
  const status = error instanceof APIError ? error.status : readErrorBody(body).status;
  const isTemplate = code === 'model_server_error' && (status === 500 || status === 501) && texts.some((text) => OF_TEMPLATE.test(text));
  const isOther = code === 'model_not_found' || isTemplate;
  if (!isBadRequest && !isOther) return undefined;
  const param = paramOf(body);
  return {
    texts,
    message,
    isOfConversation:
      isBadRequest &&
      !texts.some((text) => OF_OTHER_CAUSE.test(text)) &&
      (param === undefined || /^(?:messages|input|body\.messages|contents)\b/.test(param)),
  };
}

/** What tells the error of a template, or of a server without a feature, from a fault that passes. */
const OF_TEMPLATE =
  /jinja|chat template|raise_exception|roles (?:must|are supported)|system message must|not support|only support|no user query/i;

/** What no other form of the request cures: money, keys, lengths. It is often reported as a bad request. */
const OF_OTHER_CAUSE = /credit|quota|billing|budget|balance|payment|api[ _-]key|too (?:long|large|many)|context (?:length|window)|exceed/i;

function paramOf(body: unknown): string | undefined {
  if (!isJsonObject(body)) return undefined;
  const { error, param } = body;
  if (typeof param === 'string' && param !== '') return param;
  return isJsonObject(error) ? paramOf(error) : undefined;
}

/** Returns a text without the escapes of JSON in JSON, and without the list of all that would have been taken. */
function readable(text: string): string {
  return text
    .slice(0, REFUSAL_LENGTH)
    .replaceAll('\\n', ' ')
    .replaceAll('\\', '')
    .replaceAll(/\s+/g, ' ')
    .replace(/,? expected one of .*/i, '');
}

/** All rules of order in a few words: the notice has room for those of the server, too. */
const ORDER_MENDED =
  'the order of the messages is mended: one system message first, then user and assistant in turn, the user first and last';

/** Returns the ways to mend a request, the best first. Not all of them change it. */
function adaptationTo(refusal: Refusal, call: AdaptedCall, learned: Learned, guesses: readonly Adaptation[]): Adaptation[] {
  const known = refusal.texts.map((text) => explained(text, call)).find((found) => found.length > 0) ?? [];
  if (!refusal.isOfConversation) return known;
  const order = REQUEST_RULES.filter((rule) => rule.isOrder && !holds(rule, capabilitiesOf(call, learned, guesses)));
  const mended: Partial<OpenAICapabilities> = Object.assign({}, ...order.map(({ when }) => when));
  if (capabilitiesOf(call, learned, guesses).systemMessages === 'none') delete mended.systemMessages;
  return [
    ...known,
    // No rule explains the refusal.
    { ...withoutParts(call), isGuess: true },
    { says: ORDER_MENDED, capabilities: mended, isGuess: true },
  ];
}

function explained(text: string, call: AdaptedCall): Adaptation[] {
  const rules = REQUEST_RULES.filter(({ refusals }) => refusals.some((pattern) => matches(pattern, text)));
  return [
    ...(REFUSED_PARTS.some((pattern) => matches(pattern, text)) ? [withoutParts(call)] : []),
    ...rules.map(({ says, when }): Adaptation => ({ says, capabilities: when })),
  ];
}

/** Leaves out the opaque parts of the conversation so far. */
function withoutParts({ request }: AdaptedCall): Adaptation {
  const refusedParts = request.conversation.flatMap(({ providerItems }) =>
    providerItems === undefined ? [] : [partsDigest(providerItems)],
  );
  return { says: 'the reasoning and the signatures of the answers so far are left out', refusedParts };
}

/** OpenAI takes breakpoints from this version on. */
const FIRST_VERSION = 5.6;

/** True for a model that takes breakpoints. */
function takesBreakpoints(model: unknown): boolean {
  const version = /(?:^|[/:])gpt-(\d+(?:\.\d+)?)/.exec(String(model))?.[1];
  return version !== undefined && Number(version) >= FIRST_VERSION;
}

/**
 * Marks the parts of a request that the provider is to cache: up to the last instruction, up to the end of the request before the last
 * answer, and to its end. Of at most four marks, one is left to the user. All texts of the request become parts, whether they are marked
 * or not: the next request must begin with the same ones.
 */
export function withBreakpoints(api: Api, body: Body): Body {
  if (!takesBreakpoints(body['model'])) return body;
  const name = api === 'chat' ? 'messages' : 'input';
  const dialect = api === 'chat' ? CHAT : RESPONSES;
  const items = listOf(body[name]);
  const isOfModel = (item: Item): boolean => dialect.sideOf(item) === 'assistant';
  const instructed = items.findIndex((item) => dialect.sideOf(item) !== 'system') - 1;
  const answered = items.findLastIndex(isOfModel);
  // An answer of Responses is several items.
  const before = answered < 0 ? -1 : items.slice(0, answered).findLastIndex((item) => !isOfModel(item));
  const marked = new Set([instructed, before, items.length - 1]);
  return { ...body, [name]: items.map((item, index) => withParts(item, api, dialect, marked.has(index))) };
}

const MARK = { prompt_cache_breakpoint: { mode: 'explicit' } };

/** Returns a message that no model gave with its text as parts, the last of which may be marked. */
function withParts(item: Item, api: Api, dialect: Dialect, isMarked: boolean): Item {
  if (dialect.sideOf(item) === 'assistant') return item;
  const field = item['type'] === 'function_call_output' ? 'output' : 'content';
  const given = item[field];
  const text = { type: api === 'chat' ? 'text' : 'input_text' };
  const parts: Item[] = typeof given === 'string' ? [{ ...text, text: given }] : listOf(given);
  const last = parts.at(-1);
  if (last === undefined) return item;
  return { ...item, [field]: isMarked ? [...parts.slice(0, -1), { ...last, ...MARK }] : parts };
}
