import { type ContentItem, outputText, type ToolCall, type ToolResult } from '../../core/domain/content.ts';
import { printable } from '../../core/domain/text.ts';
import { resultText, RUN_CODE } from '../../core/domain/tool-calls.ts';
import type { JsonValue } from '../../core/domain/json.ts';
import { dollars, type EstimatedUsage, type Spent, type UsageStats } from '../../core/domain/usage.ts';
import type { ContextOperation } from '../../core/domain/deps.ts';
import type { Event } from '../../core/domain/record.ts';
import { secondsBetween } from '../../core/domain/time.ts';
import type { Look } from '../output.ts';
import { eventHeadline } from '../timeline/event-headline.ts';

/** Options for printing events. */
interface EventPrintOptions {
  /** The start of the run, in ISO 8601 like `event.timestamp`. Printed times are relative to it. */
  startedAt: string;
  /** The width of a line in columns. Default 120. */
  width?: number;
  /** The number of lines that one message, call or result may take; the rest is only counted. Default 12. */
  maxLines?: number;
  /** Applies a style to text. Default: leaves it unchanged. */
  look?: (look: Look, text: string) => string;
}

const TIME_WIDTH = 7;
const AUTHOR_WIDTH = 16;
const GAP = '  ';
const INDENT = TIME_WIDTH + GAP.length + AUTHOR_WIDTH + GAP.length;
const DEFAULT_WIDTH = 120;
const DEFAULT_MAX_LINES = 12;
/** The smallest width of the text column: below it, the terminal wraps lines. */
const MIN_TEXT_WIDTH = 40;

/** One part of an event: its author, its text and its style. */
interface Entry {
  author: string;
  text: string;
  look?: Look;
}

/**
 * Returns an event as lines for people, in columns: the time since the start, the author, then the message, call or
 * result, and the usage of the model call. Pure. Control characters in texts of models and tools are escaped.
 */
export function eventLines(event: Event, options: EventPrintOptions): string[] {
  const { startedAt, width = DEFAULT_WIDTH, maxLines = DEFAULT_MAX_LINES, look: style = (_look: Look, text: string) => text } = options;
  const look: typeof style = (name, text) => (text.trim() === '' ? text : style(name, text));
  let time = elapsed(secondsBetween(startedAt, event.timestamp));
  let lastAuthor: string | undefined;
  return entriesOf(event).flatMap((entry) => {
    const lines = wrapText(printable(entry.text), Math.max(MIN_TEXT_WIDTH, width - INDENT), maxLines);
    return lines.map((line) => {
      const author = entry.author === lastAuthor ? '' : printable(entry.author).replace(/\s+/g, ' ');
      const head = `${look('dim', time.padStart(TIME_WIDTH))}${GAP}${look('bold', author.padEnd(AUTHOR_WIDTH))}${GAP}`;
      time = '';
      lastAuthor = entry.author;
      return `${head}${entry.look === undefined ? line : look(entry.look, line)}`.trimEnd();
    });
  });
}

function entriesOf(event: Event): Entry[] {
  const { author, content, usage, estimated, failedAttempts, notices = [], contextUpdates = [], caller } = event;
  const entries = content.map((item) => entryOf(item, caller === 'code' ? `${author}'s code` : author));
  const headline = eventHeadline(event);
  if (headline !== undefined) entries.push({ author, ...headline });
  const changes = contextUpdates.flatMap(({ operations }) => operations.map(changeText));
  if (changes.length > 0) entries.push({ author, text: `deps: ${changes.join(', ')}`, look: 'dim' });
  for (const { message } of notices) entries.push({ author, text: `note: ${message}`, look: 'yellow' });
  if (entries.length === 0) entries.push({ author, text: '(an empty answer)', look: 'dim' });
  if (usage !== undefined) entries.push({ author, text: usageText(usage, estimated), look: 'dim' });
  if (failedAttempts !== undefined) entries.push({ author, text: `${spentText(failedAttempts)} in attempts that failed`, look: 'dim' });
  return entries;
}

function entryOf(item: ContentItem, author: string): Entry {
  switch (item.type) {
    case 'message':
      return { author, text: outputText(item.content) };
    case 'tool_call':
      return { author, text: `→ ${callText(item)}`, look: 'cyan' };
    case 'tool_result':
      return resultEntry(item);
  }
}

function resultEntry({ name, status, content }: ToolResult): Entry {
  const text = resultText(content);
  if (status === 'error') return { author: name, text: `← error: ${text}`, look: 'red' };
  return { author: name, text: `← ${text === '' ? '(nothing)' : text}` };
}

/** Returns a change of the deps as its tool wrote it: `append cart "table"`. */
function changeText(operation: ContextOperation): string {
  const { op, key } = operation;
  return op === 'delete' ? `${op} ${key}` : `${op} ${key} ${JSON.stringify(operation.value)}`;
}

/** Returns a call as `name(key: value, …)`, with values as JSON. Code is shown as it is. */
function callText({ name, arguments: args }: ToolCall): string {
  const { code, ...others } = args;
  if (name === RUN_CODE && typeof code === 'string' && Object.keys(others).length === 0) return `${name}\n${code.trimEnd()}`;
  const pairs = Object.entries(args).map(([key, value]: [string, JsonValue]) => `${key}: ${JSON.stringify(value)}`);
  return `${name}(${pairs.join(', ')})`;
}

/**
 * Returns seconds for people: `0.31s`, `2m05s`, `3h20m`, `2d04h`. A negative time, from the clocks of two machines,
 * is shown as 0.
 */
function elapsed(seconds: number): string {
  if (!(seconds > 0)) return '0.00s';
  if (seconds < 99.995) return `${seconds.toFixed(2)}s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)}m${two(whole % 60)}s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 1440) return `${Math.floor(minutes / 60)}h${two(minutes % 60)}m`;
  const hours = Math.floor(minutes / 60);
  return `${Math.floor(hours / 24)}d${two(hours % 24)}h`;
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}

/** Returns the usage of a model call: as the provider reported it, otherwise as estimated. */
function usageText(usage: UsageStats | null, estimated: EstimatedUsage | undefined): string {
  if (usage !== null) return reportedText(usage);
  return estimated === undefined ? 'tokens unknown' : estimatedText(estimated);
}

/** Returns the usage of failed attempts. */
function spentText({ reported, estimated }: Spent): string {
  return [...(reported === undefined ? [] : [reportedText(reported)]), ...(estimated === undefined ? [] : [estimatedText(estimated)])].join(
    ', ',
  );
}

function reportedText({
  totalTokens,
  promptTokens,
  completionTokens,
  cachedTokens,
  cacheWriteTokens,
  reasoningTokens,
  costUsd,
}: UsageStats): string {
  const parts = [
    ...(cachedTokens ? [`${cachedTokens} of them cached`] : []),
    ...(cacheWriteTokens ? [`${cacheWriteTokens} written to the cache`] : []),
  ];
  const read = [`${promptTokens} in`, ...parts].join(', ');
  const written = reasoningTokens ? `${completionTokens} out, ${reasoningTokens} of them reasoning` : `${completionTokens} out`;
  return `${totalTokens} tokens (${read}; ${written})${costText(costUsd)}`;
}

function estimatedText({ totalTokens, promptTokens, completionTokens, costUsd }: EstimatedUsage): string {
  return `about ${totalTokens} tokens (${promptTokens} in; ${completionTokens} out)${costText(costUsd)}, estimated`;
}

function costText(costUsd: number | undefined): string {
  return costUsd === undefined ? '' : `, ${dollars(costUsd)}`;
}

/**
 * Returns text as lines of at most `width` characters, broken at spaces if possible. There are at most `maxLines` of
 * them, and then one that says how many characters are left out. Line breaks are kept; tabs become spaces.
 */
function wrapText(text: string, width: number, maxLines: number): string[] {
  const characters = Array.from(text.replaceAll('\t', '  '));
  const lines: string[] = [];
  let start = 0;
  do {
    if (lines.length === maxLines) {
      lines.push(`… ${characters.length - start} more characters`);
      break;
    }
    const end = lineEnd(characters, start, width);
    lines.push(characters.slice(start, end).join('').trimEnd());
    start = end;
    // The space or line break at which a line ends belongs to neither line.
    if (characters[start] === ' ' || characters[start] === '\n') start += 1;
  } while (start < characters.length);
  return lines;
}

function lineEnd(characters: readonly string[], start: number, width: number): number {
  let lastBlank = -1;
  for (let index = start; index < characters.length && index <= start + width; index += 1) {
    if (characters[index] === '\n') return index;
    if (characters[index] === ' ' && index > start) lastBlank = index;
  }
  if (characters.length - start <= width) return characters.length;
  return lastBlank > start ? lastBlank : start + width;
}
