import { jsonBytes } from '../core/domain/byte-budgets.ts';
import { type Source, SOURCE_BOUNDS } from '../core/domain/content.ts';
import { defined, isJsonObject, type JsonObject } from '../core/domain/json.ts';
import { oneLine } from '../core/domain/text.ts';
import { cleanJson } from './parse-json.ts';

/** The most bytes of a title, a media type and a name of a file. */
const TITLE_BYTES = 500;
const NAME_BYTES = 200;

/**
 * Returns the sources of an answer with this text as they are recorded: each once, at most 50. Nothing in them is trusted. One that is no
 * object, names nothing, or has a URL that is too long is left out; so are a URL that is not of the web, which a page could run, and a
 * place that is not in the text.
 */
export function checkSources(given: unknown, text: string): Source[] {
  const sources = new Map<string, Source>();
  for (const one of listIn(given)) {
    const source = checkSource(one, text);
    if (source === undefined || jsonBytes(source) > SOURCE_BOUNDS.bytes) continue;
    if (sources.size === SOURCE_BOUNDS.sources) break;
    sources.set(JSON.stringify(source), source);
  }
  const all = [...sources.values()];
  // A page that was found, and then cited at some place.
  const cited = new Set(all.flatMap(({ url, start }) => (url === undefined || start === undefined ? [] : [url])));
  return all.filter(({ url, start }) => start !== undefined || url === undefined || !cited.has(url));
}

function listIn(given: unknown): JsonObject[] {
  const list = Array.isArray(given) ? cleanJson(given) : undefined;
  return Array.isArray(list) ? list.filter(isJsonObject) : [];
}

function checkSource(
  { url: address, title: titled, mediaType: type, filename: named, start, end }: JsonObject,
  text: string,
): Source | undefined {
  const url = typeof address === 'string' && /^https?:\/\//i.test(address) && URL.canParse(address) ? address.toWellFormed() : undefined;
  const title = lineOf(titled, TITLE_BYTES);
  const filename = lineOf(named, NAME_BYTES);
  if (url === undefined && title === undefined && filename === undefined) return undefined;
  const source = { url, title, mediaType: lineOf(type, NAME_BYTES), filename };
  return { ...defined(source), ...placeIn(text, start, end) };
}

function lineOf(given: unknown, bytes: number): string | undefined {
  const line = typeof given === 'string' ? oneLine(given.toWellFormed(), bytes) : '';
  return line === '' ? undefined : line;
}

function placeIn(text: string, start: unknown, end: unknown): Pick<Source, 'start' | 'end'> {
  if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end)) return {};
  const [from, to] = [Number(start), Number(end)];
  return from >= 0 && from <= to && to <= text.length ? { start: from, end: to } : {};
}

/** Returns sources without their places: the text has changed since. */
export function withoutPlaces(given: unknown): Source[] {
  return listIn(given).map(({ url, title, mediaType, filename }) => ({ url, title, mediaType, filename }) as Source);
}
