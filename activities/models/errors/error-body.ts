import { utf8Prefix } from '../../../src/core/domain/text.ts';
import { isJsonObject, isTooDeep, type JsonValue, parsedJson } from '../../../src/core/domain/json.ts';

/** The content of an error's body, in any of the known shapes. */
export interface ErrorBody {
  /** The text for a person. Empty if the body has none. */
  message: string;
  /** Its machine-readable words: code, type, Azure's inner code, Google's status. */
  words: string[];
  /** The HTTP status, if the body repeats it as its code. */
  status: number | undefined;
  /** The wait in seconds that the body asks for. */
  waitSeconds: number | undefined;
}

/** The maximum bytes of external text that a regular expression sees. */
const PATTERN_BYTES = 8_192;

/** Returns the part of an external text that a regular expression may see. */
export function forPatterns(text: string): string {
  // A code unit has at most three bytes, and at least one: only the beginning needs to be encoded.
  return utf8Prefix(text.slice(0, PATTERN_BYTES), PATTERN_BYTES);
}

/** The levels of a body that are read, counting lists, objects, and JSON inside a text. */
const READ_LEVELS = 8;

/** The longest text that is read as JSON. */
const LONGEST_JSON = 256 * 1024;

/**
 * Reads an error as servers and gateways send it: `{error: {message, code, type}}` and nested forms of these, lists of them, JSON inside a
 * text, HTML pages, plain text.
 */
export function readErrorBody(raw: unknown): ErrorBody {
  const facts: Facts = { words: [], status: undefined, waitSeconds: undefined };
  const body = shallowBody(raw);
  const message = messageIn(body, facts, READ_LEVELS) ?? (saysSomething(body) ? JSON.stringify(body) : '');
  return { ...facts, message };
}

function saysSomething(body: unknown): boolean {
  return isJsonObject(body) && Object.values(body).some((value) => value !== '' && value !== null);
}

type Facts = Omit<ErrorBody, 'message'>;

/** Fields with the problem, in addition to an object in `error`: the first with a text counts. */
const MESSAGE_FIELDS = [
  'message',
  'Message',
  'msg',
  'error_msg',
  'error_message',
  'errorMessage',
  'error_description',
  'errors',
  'detail',
  'details',
  'base_resp',
  'status_msg',
  'choices',
  'response',
  'error',
  'title',
  'reason',
];

/** Fields with machine-readable words. */
const WORD_FIELDS = ['code', 'type', 'status', '__type', 'error_code', 'errorCode', 'error_type', 'reason'];

/** Returns the first message in a value, and collects the facts around it. */
function messageIn(value: unknown, facts: Facts, levels: number): string | undefined {
  if (levels === 0) return undefined;
  if (typeof value === 'string') return messageOfText(value, facts, levels);
  if (Array.isArray(value)) return messageOfList(value, facts, levels);
  if (!isJsonObject(value)) return undefined;
  collectFacts(value, facts);
  const { error } = value;
  const fields = typeof error === 'object' ? ['error', ...MESSAGE_FIELDS] : MESSAGE_FIELDS;
  // All of them are read, because the facts may be in a different one than the message.
  const found = fields.map((field) => messageIn(value[field], facts, levels - 1)).find((text) => text !== undefined);
  // OpenRouter says "Provider returned error", next to the provider's own words.
  const metadata = value['metadata'];
  const inner = isJsonObject(metadata) ? messageIn(metadata['raw'], facts, levels - 1) : undefined;
  if (isJsonObject(metadata)) collectWait(metadata, facts);
  if (inner === undefined || found === undefined) return found ?? inner;
  return found.includes(inner) ? found : `${found}: ${inner}`;
}

/** Problems of one request, as FastAPI lists them, become one message. Other lists have one error. */
function messageOfList(list: unknown[], facts: Facts, levels: number): string | undefined {
  const few = list.slice(0, 5);
  const texts = few.map((one) => {
    const text = messageIn(one, facts, levels - 1);
    const place: unknown = isJsonObject(one) ? one['loc'] : undefined;
    return text === undefined || !Array.isArray(place) ? text : `${text} (${place.map(String).join('.')})`;
  });
  const said = [...new Set(texts.filter((text) => text !== undefined))];
  return said.length === 0 ? undefined : said.join('; ');
}

function messageOfText(text: string, facts: Facts, levels: number): string | undefined {
  const trimmed = text.trim();
  if (trimmed === '') return undefined;
  if ((trimmed.startsWith('{') || trimmed.startsWith('[')) && trimmed.length <= LONGEST_JSON) {
    const inner = messageIn(shallowBody(parsedJson(trimmed)), facts, levels - 1);
    if (inner !== undefined) return inner;
  }
  return trimmed.startsWith('<') ? textOfPage(trimmed) : trimmed;
}

/** MiniMax reports its errors with the HTTP status 200 and its own number. */
const MINIMAX_STATUS: Readonly<Record<number, number>> = {
  1000: 500,
  1001: 504,
  1002: 429,
  1004: 401,
  1008: 402,
  1013: 500,
  1024: 500,
  1033: 500,
  1039: 429,
  1041: 429,
  1042: 400,
  2013: 400,
  2045: 429,
  2049: 401,
  2056: 429,
};

/** MiniMax's numbers for a withheld text. */
const MINIMAX_FILTERED: readonly unknown[] = [1026, 1027];

function collectFacts(value: Record<string, unknown>, facts: Facts): void {
  for (const field of WORD_FIELDS) {
    const word = value[field];
    if (typeof word === 'string' && word !== '' && word.length <= 200) facts.words.push(word);
  }
  const { innererror, status_code: own } = value;
  if (isJsonObject(innererror)) collectFacts(innererror, facts);
  if (MINIMAX_FILTERED.includes(own)) facts.words.push('content_filter');
  facts.status ??= [value['code'], value['status'], value['statusCode'], own].map(httpStatus).find((status) => status !== undefined);
  collectWait(value, facts);
}

function httpStatus(code: unknown): number | undefined {
  const number = typeof code === 'string' && /^\d{3}$/.test(code) ? Number(code) : code;
  if (typeof number !== 'number') return undefined;
  return number >= 400 && number <= 599 ? number : MINIMAX_STATUS[number];
}

/** Collects Google's `RetryInfo`, in seconds with a unit or as an object, and other providers' seconds. */
function collectWait(value: Record<string, unknown>, facts: Facts): void {
  const { retryDelay, retry_after: after, retry_after_seconds: seconds } = value;
  const google: unknown = isJsonObject(retryDelay)
    ? Number(retryDelay['seconds'] ?? 0) + Number(retryDelay['nanos'] ?? 0) / 1e9
    : typeof retryDelay === 'string' && /^\d{1,9}(?:\.\d{1,9})?s$/.test(retryDelay)
      ? Number(retryDelay.slice(0, -1))
      : undefined;
  facts.waitSeconds ??= [google, after, seconds].find((one): one is number => typeof one === 'number' && Number.isFinite(one) && one > 0);
}

/** The elements of a page without readable text. */
const UNREAD = ['script', 'style', 'svg'];

/** Returns the text of a page: its title and its first heading, otherwise all of its text. */
function textOfPage(page: string): string | undefined {
  const heads = ['title', 'h1'].map((tag) => withoutTags(elementOf(page, tag))).filter((text) => text !== '');
  const text = heads.length > 0 ? [...new Set(heads)].join(': ') : withoutTags(page);
  return text === '' ? undefined : text;
}

/** Returns the content of the first element of a kind. */
function elementOf(page: string, tag: string): string {
  const lower = page.toLowerCase();
  const start = lower.indexOf(`<${tag}`);
  const open = start === -1 ? -1 : page.indexOf('>', start);
  const end = open === -1 ? -1 : lower.indexOf(`</${tag}`, open);
  return end === -1 ? '' : page.slice(open + 1, end);
}

/** Returns the text between the tags. Reads each character a fixed number of times: the page may be hostile. */
function withoutTags(page: string): string {
  const lower = page.toLowerCase();
  let text = '';
  let at = 0;
  while (at < page.length) {
    const open = page.indexOf('<', at);
    text += ` ${page.slice(at, open === -1 ? page.length : open)}`;
    if (open === -1) break;
    const unread = UNREAD.find((tag) => lower.startsWith(tag, open + 1));
    const close = unread === undefined ? open : lower.indexOf(`</${unread}`, open);
    const end = close === -1 ? -1 : page.indexOf('>', close);
    if (end === -1) break;
    at = end + 1;
  }
  return text.trim();
}

/** The levels that are kept of a body that is nested too deeply: no API puts its message deeper. */
const KEPT_DEPTH = 8;

/** Returns a body that can be shown as JSON: levels that would overflow the stack are left out. */
export function shallowBody(body: unknown): unknown {
  return isTooDeep(body) ? cutBelow(body as JsonValue, KEPT_DEPTH) : body;
}

function cutBelow(value: JsonValue, levels: number): JsonValue {
  if (typeof value !== 'object' || value === null) return value;
  if (levels === 0) return '…';
  if (Array.isArray(value)) return value.map((one) => cutBelow(one, levels - 1));
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, cutBelow(one, levels - 1)]));
}

/** The kinds of fault in an answer with HTTP status 200. */
export type AnswerFaultKind =
  /** The connection ended before the answer was complete. */
  | 'cut'
  /** Nothing arrived within the idle timeout. */
  | 'silent'
  /** The answer does not follow the API. */
  | 'malformed';

/** The error for a fault that the client finds in an answer. */
export class AnswerFault extends Error {
  readonly kind: AnswerFaultKind;
  /** The text that arrived instead of an answer, such as a gateway's page. */
  readonly text: string;

  constructor(kind: AnswerFaultKind, message: string, text = '') {
    super(message);
    this.kind = kind;
    this.text = text;
  }
}

/** The HTTP answer that an error came with. */
interface HttpAnswer {
  status: number;
  headers?: Headers | undefined;
}

/** An error reported by the provider: inside an answer of status 200, or instead of an answer. */
export class ReportedFault extends Error {
  /** The error as the provider sent it: an object, or text. */
  readonly body: unknown;
  /** Absent for an error inside an answer. */
  readonly answer: HttpAnswer | undefined;

  constructor(body: unknown, answer?: HttpAnswer) {
    super('the provider reported an error');
    this.body = body;
    this.answer = answer;
  }
}

/**
 * True for an error instead of an answer: in `error`, with `object: 'error'` (vLLM), in a list (Gemini), in a choice (OpenRouter), as a
 * MiniMax number, or as a body that has an HTTP code and no part of an answer.
 */
export function isReportedError(data: unknown): boolean {
  if (Array.isArray(data)) return isReportedError(data[0]);
  if (!isJsonObject(data)) return false;
  const { error, object, choices, base_resp: minimax } = data;
  if (isJsonObject(error) || (typeof error === 'string' && error !== '') || object === 'error') return true;
  if (isJsonObject(minimax) && typeof minimax['status_code'] === 'number' && minimax['status_code'] !== 0) return true;
  if (Array.isArray(choices)) return choices.some((choice) => isJsonObject(choice) && isJsonObject(choice['error']));
  return choices === undefined && data['output'] === undefined && isFailureBody(data);
}

function isFailureBody({ code, success, message, msg, type }: Record<string, unknown>): boolean {
  if (typeof type === 'string' && type.startsWith('response.')) return false;
  const says = typeof message === 'string' || typeof msg === 'string';
  return says && (success === false || (typeof code === 'number' && code >= 400 && code <= 599));
}
