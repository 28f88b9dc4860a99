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
import { type Api, type Body, holds, matches, REFUSED_PARTS, REQUEST_RULES, type RequestRule } from './request-rules.ts';

/** The maximum number of refused requests of one call: each differs from all earlier ones. */
const MOST_REFUSALS = 12;

/** The maximum number of remembered models, and of refused parts of each. */
const MOST_MODELS = 200;
const MOST_REFUSED_PARTS = 1_000;

/** The maximum characters of a refusal that are read. */
const REFUSAL_LENGTH = 8_192;

/** The knowledge of a process about a model's server. */
interface Learned {
  capabilities: Partial<OpenAICapabilities>;
  /** Digests of the opaque parts that the provider refuses. */
  refusedParts: Set<string>;
}

/** The inputs of a call's body. */
interface BuiltCall {
  request: ModelRequest;
  /** The declared capabilities. */
  capabilities: OpenAICapabilities;
  /** The fingerprint of the account that makes the call. */
  account: string;
  build(request: ModelRequest, capabilities: OpenAICapabilities): Body;
}

/** One model call that is adapted to its server. */
interface AdaptedCall extends BuiltCall {
  send(body: Body): Promise<ModelResponse>;
  /** True once a part of the answer has arrived: then nothing is sent again. */
  isAnswering(): boolean;
  /** Converts a thrown error. */
  classify(error: unknown): ModelCallError;
}

/** A refused request of a batch. */
interface RefusedInBatch extends Pick<AdaptedCall, 'classify'> {
  model: string;
  /** The declared capabilities. */
  capabilities: OpenAICapabilities;
}

/** A step that adapts a call. */
interface Adaptation {
  says: string;
  capabilities?: Partial<OpenAICapabilities>;
  refusedParts?: readonly string[];
  /** The step is a guess, which is forgotten unless the server accepts the request. */
  isGuess?: true;
}

/** The rules that a client has learned from servers, by model name. They are kept as long as the process runs. */
export class LearnedRules {
  /** The most recently used last. */
  readonly #models = new Map<string, Learned>();

  /**
   * Sends a request, and sends it again in changed form each time the server refuses it for a fixable reason, never unchanged. Rejects with
   * the last error, or, if guesses did not help, with the error that no rule explains.
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
        // A body as large as the conversation is only digested if there may be another one to compare it with.
        sent.add(digestOf(body));
        const refusal = call.isAnswering() || sent.size >= MOST_REFUSALS ? undefined : refusalOf(error, call);
        const isNew = (adaptation: Adaptation): boolean => !sent.has(digestOf(bodyOf(call, learned, [...guesses, adaptation])));
        const next = refusal === undefined ? undefined : adaptationTo(refusal, call, learned, guesses).find(isNew);
        if (refusal === undefined || next === undefined) {
          // An overloaded server has not refused the guess, so the next attempt begins with it.
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

  /**
   * Learns from a refusal in a batch, where nothing can be sent again at once. Returns true if a rule explains it: the next request is another
   * one, unless the server refuses that, too.
   */
  learn(error: unknown, { model, capabilities, classify }: RefusedInBatch): boolean {
    const refusal = refusalOf(error, { classify });
    const rules = refusal?.texts.map(rulesFor).find((found) => found.length > 0);
    if (rules === undefined) return false;
    const learned = this.#of(model);
    // The refusals of one batch are alike.
    const next = rules.find((rule) => !holds(rule, { ...capabilities, ...learned.capabilities }));
    if (next !== undefined) remember(learned, { says: next.says, capabilities: next.when });
    return true;
  }

  /** Returns the initial body of a call, with the rules learned so far. */
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

/** Returns the body of a request, with this account's opaque parts except for refused ones. */
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

/** A server's refusal of a request. */
interface Refusal {
  /** The message, then the whole error, which may quote the conversation and is only read if the message explains nothing. */
  texts: readonly string[];
  /** The error as the run would report it. */
  message: string;
  /** The request itself is refused, and no parameter outside of the conversation is named as the cause. */
  isOfConversation: boolean;
}

/** Returns the refusal of a server; undefined for other errors. */
function refusalOf(error: unknown, call: Pick<AdaptedCall, 'classify'>): Refusal | undefined {
  const raw: unknown = error instanceof ReportedFault ? error.body : error instanceof APIError ? error.error : undefined;
  if (raw === undefined) return undefined;
  const body = shallowBody(raw);
  const { code, message } = call.classify(error);
  const isBadRequest = code === 'model_bad_request' || code === 'model_unprocessable';
  const texts = [readErrorBody(body).message, JSON.stringify(body) ?? ''].map(readable);
  // Routers without a suitable server answer 404, and chat templates fail with 500.
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

/** Distinguishes the error of a template, or of a server without a feature, from a transient fault. */
const OF_TEMPLATE =
  /jinja|chat template|raise_exception|roles (?:must|are supported)|system message must|not support|only support|no user query/i;

/** Problems that no other form of the request can fix: money, keys, lengths. They are often reported as bad requests. */
const OF_OTHER_CAUSE = /credit|quota|billing|budget|balance|payment|api[ _-]key|too (?:long|large|many)|context (?:length|window)|exceed/i;

function paramOf(body: unknown): string | undefined {
  if (!isJsonObject(body)) return undefined;
  const { error, param } = body;
  if (typeof param === 'string' && param !== '') return param;
  return isJsonObject(error) ? paramOf(error) : undefined;
}

/** Returns a text without the escapes of nested JSON, and without the list of accepted values. */
function readable(text: string): string {
  return text
    .slice(0, REFUSAL_LENGTH)
    .replaceAll('\\n', ' ')
    .replaceAll('\\', '')
    .replaceAll(/\s+/g, ' ')
    .replace(/,? expected one of .*/i, '');
}

/** All rules about message order in a few words: the notice also needs room for the server's words. */
const ORDER_MENDED =
  'the order of the messages is mended: one system message first, then user and assistant in turn, the user first and last';

/** Returns the possible adaptations of a request, the best first. Not all of them change it. */
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
  return [
    ...(REFUSED_PARTS.some((pattern) => matches(pattern, text)) ? [withoutParts(call)] : []),
    ...rulesFor(text).map(({ says, when }): Adaptation => ({ says, capabilities: when })),
  ];
}

/** Returns the rules that explain a refusal. */
function rulesFor(text: string): RequestRule[] {
  return REQUEST_RULES.filter(({ refusals }) => refusals.some((pattern) => matches(pattern, text)));
}

/** Leaves out the opaque parts of the conversation so far. */
function withoutParts({ request }: AdaptedCall): Adaptation {
  const refusedParts = request.conversation.flatMap(({ providerItems }) =>
    providerItems === undefined ? [] : [partsDigest(providerItems)],
  );
  return { says: 'the reasoning and the signatures of the answers so far are left out', refusedParts };
}

/** OpenAI accepts breakpoints from this version on. */
const FIRST_VERSION = 5.6;

/** True for a model that accepts breakpoints. */
function takesBreakpoints(model: unknown): boolean {
  const version = /(?:^|[/:])gpt-(\d+(?:\.\d+)?)/.exec(String(model))?.[1];
  return version !== undefined && Number(version) >= FIRST_VERSION;
}

/**
 * Marks the parts of a request to cache: up to the last instruction, up to the end of the request before the last answer, and to its end.
 * Of at most four marks, one is left to the user. All texts of the request become parts, marked or not: the next request must begin with
 * the same ones.
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

/** Returns a message from anyone but a model with its text as parts, the last of which may be marked. */
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
