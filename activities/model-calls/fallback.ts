import { log } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { AgentSnapshot } from '../../src/core/domain/agent.ts';
import { BYTE_BUDGETS, cutText } from '../../src/core/domain/byte-budgets.ts';
import {
  ERROR_CODES,
  type ErrorCode,
  errorCode,
  errorMessage,
  isErrorCode,
  isInstance,
  ModelCallError,
} from '../../src/core/domain/errors.ts';
import {
  type AnswerOrigin,
  DEFAULT_COOL_DOWN_MS,
  type FallbackPolicy,
  isListed,
  MOVES_ON,
  type SkippedModel,
  type TriedModel,
} from '../../src/core/domain/fallback.ts';
import type { ModelCallContext, ModelClient, ModelRequest } from '../../src/core/domain/model.ts';
import type { ModelDelta } from '../../src/core/domain/stream.ts';
import type { ModelPrice } from '../../src/core/domain/usage.ts';
import type { Folded } from '../../src/core/domain/window.ts';
import { isOfModel } from '../../src/model/build-request.ts';
import { attemptInfo } from '../attempts/attempt-info.ts';
import { thrownCode, thrownWaitMs } from '../models/errors/error-rules.ts';
import type { BeginStream } from '../streams/activity-streams.ts';
import { type Pace, paceOf } from './patience.ts';

/** A candidate model of a call. */
export interface AskedModel {
  /** `provider/model`. */
  name: string;
  client: ModelClient;
  /** The request as built only from the conversation. */
  request: ModelRequest;
  /** Returns the request to send instead. If it rejects, nothing is sent. */
  prepare?: (request: ModelRequest, signal: AbortSignal) => Promise<ModelRequest>;
  /** Its maximum input tokens. Only for a model of a list. */
  contextTokens?: number;
  /** The id of a hosted tool in the request that its provider does not know. Absent: it knows all. */
  unknownTool?: string | undefined;
  /** Its price, if known. Only for a model of a list: the run itself knows any other price. */
  price?: ModelPrice | undefined;
  /** Its answer comes from a batch. */
  inBatch?: true;
}

/** The candidate models of a call, and the rules for moving on to the next. */
export interface AskedModels {
  /** At least one, in the order of the list. */
  models: readonly AskedModel[];
  /** Absent: there is one model. */
  policy?: FallbackPolicy | undefined;
  /** The estimated tokens of the request. Absent: it fits every model. */
  tokens?: number | undefined;
  /** The model that made the calls of this turn, which is asked first. */
  ofTurn?: string | undefined;
  /** The conversation was too long, and has been shortened: a model with a larger context may be asked. */
  isShortened?: boolean | undefined;
}

/** The failures that concern the provider or the account, not one request: they cool a model down. */
const COOLS_DOWN: ReadonlySet<ErrorCode> = new Set([
  'model_request_timeout',
  'model_rate_limited',
  'model_server_error',
  'model_unreachable',
  'model_timeout',
  'model_bad_response',
  'model_quota_exceeded',
  'model_unauthorized',
  'model_forbidden',
  'model_not_found',
]);

/** The longest time for which a wait that a provider asks for keeps its model from being asked first, in milliseconds. */
const LONGEST_ASKED_MS = 10 * 60 * 1_000;

/** The maximum number of remembered cooling models per client: a worker may have a key for each tenant. */
const MOST_COOLING = 1_000;

/** The times until which models cool down, by client and by the key of the account's limit. */
const coolingOfClients = new WeakMap<ModelClient, Map<string, number>>();

/** The failure that decides the retry of the call: of the provider that may be asked again first. */
interface SoonestRefusal {
  pace: Pace | undefined;
  sentAt: number;
  askedMs: number | undefined;
}

/**
 * The models of one attempt of a call, in the order in which they are asked. Only models whose context has room for the request are asked;
 * models that are not cooling down come first, among them the model that made the calls of this turn, then the agent's order applies.
 */
export class ModelOrder {
  readonly #asked: AskedModels;
  readonly #context: Pick<ModelCallContext, 'tags'>;
  readonly #call: string;
  readonly #skipped: SkippedModel[] = [];
  readonly #failures: (TriedModel & { error: unknown })[] = [];
  #left: AskedModel[];
  #soonest: SoonestRefusal | undefined;

  /** `call`: the key of the call in the queues of refused calls. */
  constructor(asked: AskedModels, context: Pick<ModelCallContext, 'tags'>, call: string) {
    this.#asked = asked;
    this.#context = context;
    this.#call = call;
    this.#left = this.#inOrder();
  }

  /** The model that is currently asked. */
  get current(): AskedModel {
    const model = this.#left[0] ?? this.#asked.models[0];
    if (model === undefined) throw new ModelCallError('model_error', 'The call has no model');
    return model;
  }

  /** True if another model follows when this one fails. */
  get hasNext(): boolean {
    return this.#left.length > 1;
  }

  /** True if a model has been asked in this attempt. */
  get hasAsked(): boolean {
    return this.#failures.length > 0;
  }

  /** Milliseconds for the current model. Undefined for the last one, which has the rest of the attempt. */
  get limitMs(): number | undefined {
    return this.hasNext ? attemptInfo().startToCloseTimeoutMs / this.#asked.models.length : undefined;
  }

  /** The longest wait for the current model, if another one can be asked instead, in milliseconds. */
  get maxWaitMs(): number | undefined {
    return this.hasNext ? this.#asked.policy?.maxWaitMs : undefined;
  }

  /** Skips the current model, whose limits are used up for too long. Returns false if there is no other one. */
  passOver(): boolean {
    if (!this.hasNext) return false;
    this.#skipped.push({ model: this.current.name, reason: 'long_wait' });
    this.#left = this.#left.slice(1);
    return true;
  }

  /** Records that the current model has failed. Returns true if there is a next model, which is now the current one. */
  moveOn(error: unknown, { pace, sentAt }: Omit<SoonestRefusal, 'askedMs'>): boolean {
    const { policy, isShortened = false } = this.#asked;
    if (policy === undefined) return false;
    const { name, contextTokens = 0 } = this.current;
    const code = codeOf(error);
    this.#failures.push({ model: name, code, error });
    const askedMs = thrownWaitMs(error);
    const isSooner = this.#soonest === undefined || (askedMs ?? 0) < (this.#soonest.askedMs ?? 0);
    if (ERROR_CODES[code].retryable && isSooner) this.#soonest = { pace, sentAt, askedMs };
    this.#coolDown(code, askedMs, policy);
    const [, ...others] = this.#left;
    const isTooLong = code === 'context_length_exceeded';
    const next = isTooLong ? (isShortened ? others.filter((one) => (one.contextTokens ?? 0) > contextTokens) : []) : others;
    const mayMove = isTooLong || (policy.on ?? MOVES_ON).some((one) => one === code);
    if (!mayMove || next.length === 0) return false;
    this.#left = next;
    log.warn(`Model "${name}" failed with "${code}": the call moves on to "${this.current.name}"`, { model: name, code });
    return true;
  }

  /** Records that the current model has answered. Returns the origin to record. */
  answered(): AnswerOrigin {
    const { models, policy, ofTurn } = this.#asked;
    const { name } = this.current;
    if (policy === undefined) return {};
    coolingOfClients.get(this.current.client)?.delete(this.#key(this.current));
    const tried = this.#failures.map(({ model, code }) => ({ model, code }));
    const place = models.findIndex((one) => one.name === name);
    const before = new Set(models.slice(0, place).map((one) => one.name));
    for (const { model } of tried) before.delete(model);
    // The model of the turn would have been asked before them anyway.
    const skipped = name === ofTurn ? [] : this.#skipped.filter(({ model }) => before.has(model));
    return {
      ...(place === 0 ? {} : { answeredBy: name }),
      ...(tried.length === 0 ? {} : { tried }),
      ...(skipped.length === 0 ? {} : { skipped }),
    };
  }

  /** The origin of a partial answer: the model that was asked last. */
  get partialOrigin(): AnswerOrigin {
    const { models, policy } = this.#asked;
    return policy === undefined || this.current === models[0] ? {} : { answeredBy: this.current.name };
  }

  /** Returns the failure of the call: of its only model, or of all asked models, with the last one's code. */
  failure(error: unknown): unknown {
    if (this.#failures.length < 2 || this.#failures.at(-1)?.error !== error) return error;
    // The combined message is cut like any other, which must not hide the last failure.
    const bytes = BYTE_BUDGETS.errorMessage / (2 * this.#failures.length);
    const each = this.#failures.map((one) => `"${one.model}" ${one.code}: ${cutText(errorMessage(one.error), bytes)}`);
    return new ModelCallError(codeOf(error), `No model has answered. ${each.join(' · ')}`, {
      cause: error,
      retryAfterMs: this.#soonest?.askedMs,
    });
  }

  /** Returns the refusal after which the call can be retried soonest. Undefined for a call with one model, and if no model was refused. */
  soonest(error: unknown): SoonestRefusal | undefined {
    return this.#failures.at(-1)?.error === error ? this.#soonest : undefined;
  }

  #inOrder(): AskedModel[] {
    const { models, policy, tokens = 0, ofTurn } = this.#asked;
    if (policy === undefined) return [...models];
    const largest = Math.max(...models.map((one) => one.contextTokens ?? Infinity));
    // An estimate alone must not rule out all models: the provider decides whether the request fits.
    const least = Math.min(tokens, largest);
    const fits = (one: AskedModel): boolean => (one.contextTokens ?? Infinity) >= least;
    const rank = (one: AskedModel): number => (this.#isCooling(one) ? 2 : 0) + (one.name === ofTurn ? 0 : 1);
    const knowing = models.filter((one) => one.unknownTool === undefined);
    // If no model knows the tools, the first one's failure says so.
    const able = knowing.length === 0 ? models : knowing;
    for (const one of models) {
      if (!able.includes(one)) this.#skipped.push({ model: one.name, reason: 'no_hosted_tool' });
      else if (!fits(one)) this.#skipped.push({ model: one.name, reason: 'too_small' });
      else if (this.#isCooling(one)) this.#skipped.push({ model: one.name, reason: 'cooling_down' });
    }
    const fitting = able.filter(fits);
    return (fitting.length === 0 ? [...able] : fitting).toSorted((one, other) => rank(one) - rank(other));
  }

  /** True for a model that has failed recently, or whose provider refuses calls, for which others wait. */
  #isCooling(model: AskedModel): boolean {
    const until = coolingOfClients.get(model.client)?.get(this.#key(model)) ?? 0;
    return until > performance.now() || (paceOf(model.client, model.request, this.#context)?.waitOf(this.#call) ?? 0) > 0;
  }

  #coolDown(code: ErrorCode, askedMs: number | undefined, { coolDownMs = DEFAULT_COOL_DOWN_MS }: FallbackPolicy): void {
    if (!COOLS_DOWN.has(code)) return;
    const { client } = this.current;
    const known = coolingOfClients.get(client) ?? new Map<string, number>();
    coolingOfClients.set(client, known);
    const key = this.#key(this.current);
    // Moves it to the end: the newest is last.
    known.delete(key);
    known.set(key, performance.now() + Math.max(coolDownMs, Math.min(askedMs ?? 0, LONGEST_ASKED_MS)));
    const [oldest] = known.keys();
    if (oldest !== undefined && known.size > MOST_COOLING) known.delete(oldest);
  }

  /** Returns the key of a model and an account: one tenant's key may be refused while another's is not. */
  #key({ name, client, request }: AskedModel): string {
    return `${name} ${client.rateLimitKey?.(request, this.#context) ?? ''}`;
  }
}

/** The live output of the models of one attempt. The output of a failed model is discarded, and the next one begins anew. */
export class AnswerStream {
  readonly #newId: () => string;
  readonly #begin: (eventId: string) => ReturnType<BeginStream>;
  readonly #onPiece: () => void;
  #eventId: string;
  #stream: ReturnType<BeginStream>;
  #isUntouched = true;

  /** `onPiece` is called with each piece. */
  constructor(newId: () => string, begin: (eventId: string) => ReturnType<BeginStream>, onPiece: () => void = () => undefined) {
    this.#newId = newId;
    this.#begin = begin;
    this.#onPiece = onPiece;
    this.#eventId = newId();
    this.#stream = begin(this.#eventId);
  }

  /** The id of the event that will have the answer, which readers know from its pieces. */
  get eventId(): string {
    return this.#eventId;
  }

  add(delta: ModelDelta): void {
    this.#isUntouched = false;
    this.#onPiece();
    this.#stream?.add(delta);
  }

  /** Discards the streamed output, if any. */
  reset(): void {
    if (this.#isUntouched) return;
    this.#stream?.end();
    this.#isUntouched = true;
    this.#eventId = this.#newId();
    this.#stream = this.#begin(this.#eventId);
  }

  /** Publishes pending output. Later pieces are ignored. */
  end(): void {
    this.#isUntouched = false;
    this.#stream?.end();
  }
}

/** Bounds the time of a model that is followed by another one. */
export class TimeLimit {
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;

  constructor(model: string, ms: number) {
    const error = new ModelCallError('model_timeout', `Model "${model}" has not answered within ${Math.round(ms / 1_000)} s`);
    this.#timer = setTimeout(() => this.#controller.abort(error), ms);
  }

  within(signal: AbortSignal): AbortSignal {
    return AbortSignal.any([signal, this.#controller.signal]);
  }

  clear(): void {
    clearTimeout(this.#timer);
  }
}

/** Returns the code of a failed call. A client may throw an error of any class. */
function codeOf(error: unknown): ErrorCode {
  const type = isInstance(error, ApplicationFailure) ? error.type : undefined;
  return errorCode(error) ?? (isErrorCode(type) ? type : thrownCode(error));
}

/** Returns the price of a model's attempts, if it is in a list. */
export function priceInList(snapshot: AgentSnapshot, model: string): Pick<AskedModel, 'price'> {
  return isListed(snapshot, model) ? { price: snapshot.prices?.[model] } : {};
}

/** The facts that determine a call's first model. */
interface CallOfTurn {
  events: readonly Folded[];
  /** The call is the first one of its turn. */
  isFirst: boolean;
}

/** Returns the model that gave the last answer of this turn, if the agent keeps to it until the turn ends. */
export function modelOfTurn({ name, model, fallback }: AgentSnapshot, { events, isFirst }: CallOfTurn): string | undefined {
  if (fallback === undefined || fallback.returnAt === 'call' || isFirst) return undefined;
  const last = events.findLast(({ author, content }) => author === name && content.some(isOfModel));
  return last === undefined ? undefined : (last.answeredBy ?? model);
}
