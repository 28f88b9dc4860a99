import type { ContentItem, ToolCall, ToolResult } from '../../core/domain/content/content.ts';
import type { ContextOperation } from '../../core/domain/record/context-update.ts';
import type { Event } from '../../core/domain/record/event.ts';
import type { JsonValue } from '../../core/domain/json/json.ts';
import { outputText } from '../../core/domain/content/output-text.ts';
import { resultText } from '../../core/domain/content/tool-text.ts';
import { eventHeadline } from '../timeline/event-headline.ts';
import { printable } from '../../core/domain/content/printable.ts';
import type { Look } from '../output.ts';
import { spentText, usageText } from './usage-text.ts';
import { wrapText } from './wrap-text.ts';

/** How events are printed. */
export interface EventPrintOptions {
  /** When the run started, in seconds since the epoch like `event.timestamp`: the times printed count from here. */
  startedAt: number;
  /** Columns of a line. Default 120. */
  width?: number;
  /** Lines that one message, call or result may take; the rest is counted. Default 12. */
  maxLines?: number;
  /** Colours a piece of text. Default: leaves it as it is. */
  look?: (look: Look, text: string) => string;
}

const TIME_WIDTH = 7;
const WHO_WIDTH = 16;
const GAP = '  ';
const INDENT = TIME_WIDTH + GAP.length + WHO_WIDTH + GAP.length;
const DEFAULT_WIDTH = 120;
const DEFAULT_MAX_LINES = 12;
/** Below this, text is not squeezed further: the terminal wraps it. */
const MIN_TEXT_WIDTH = 40;

/** One piece of an event: who it is from, what it says, and how it looks. */
interface Entry {
  who: string;
  text: string;
  look?: Look;
}

/**
 * An event as lines for a person: time since the start, who, then what was said, called or returned, in columns, and
 * what the model call cost. Pure; text of models and tools cannot control the terminal.
 */
export function eventLines(event: Event, options: EventPrintOptions): string[] {
  const { startedAt, width = DEFAULT_WIDTH, maxLines = DEFAULT_MAX_LINES, look: style = (_look: Look, text: string) => text } = options;
  const look: typeof style = (name, text) => (text.trim() === '' ? text : style(name, text));
  let time = elapsed(event.timestamp - startedAt);
  let lastWho: string | undefined;
  return entriesOf(event).flatMap((entry) => {
    const lines = wrapText(printable(entry.text), Math.max(MIN_TEXT_WIDTH, width - INDENT), maxLines);
    return lines.map((line) => {
      const who = entry.who === lastWho ? '' : printable(entry.who).replace(/\s+/g, ' ');
      const head = `${look('dim', time.padStart(TIME_WIDTH))}${GAP}${look('bold', who.padEnd(WHO_WIDTH))}${GAP}`;
      time = '';
      lastWho = entry.who;
      return `${head}${entry.look === undefined ? line : look(entry.look, line)}`.trimEnd();
    });
  });
}

function entriesOf(event: Event): Entry[] {
  const { author, content, usage, estimated, failedAttempts, contextUpdates = [] } = event;
  const entries = content.map((item) => entryOf(item, author));
  const happening = eventHeadline(event);
  if (happening !== undefined) entries.push({ who: author, ...happening });
  const changes = contextUpdates.flatMap(({ operations }) => operations.map(changeText));
  if (changes.length > 0) entries.push({ who: author, text: `deps: ${changes.join(', ')}`, look: 'dim' });
  if (entries.length === 0) entries.push({ who: author, text: '(an empty answer)', look: 'dim' });
  if (usage !== undefined) entries.push({ who: author, text: usageText(usage, estimated), look: 'dim' });
  if (failedAttempts !== undefined)
    entries.push({ who: author, text: `${spentText(failedAttempts)} in attempts that failed`, look: 'dim' });
  return entries;
}

function entryOf(item: ContentItem, author: string): Entry {
  switch (item.type) {
    case 'message':
      return { who: author, text: outputText(item.content) };
    case 'tool_call':
      return { who: author, text: `→ ${callText(item)}`, look: 'cyan' };
    case 'tool_result':
      return resultEntry(item);
  }
}

function resultEntry({ name, status, content }: ToolResult): Entry {
  const text = resultText(content);
  if (status === 'error') return { who: name, text: `← error: ${text}`, look: 'red' };
  return { who: name, text: `← ${text === '' ? '(nothing)' : text}` };
}

/** `append cart "table"`: a change of the deps as its tool wrote it. */
function changeText(operation: ContextOperation): string {
  const { op, key } = operation;
  return op === 'delete' ? `${op} ${key}` : `${op} ${key} ${JSON.stringify(operation.value)}`;
}

/** `name(key: value, …)`, with the values as JSON. */
function callText({ name, arguments: args }: ToolCall): string {
  const pairs = Object.entries(args).map(([key, value]: [string, JsonValue]) => `${key}: ${JSON.stringify(value)}`);
  return `${name}(${pairs.join(', ')})`;
}

/** Seconds as a person reads them: `0.31s`, `2m05s`, `3h20m`, `2d04h`. Clocks of two machines may make them negative: that is 0. */
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
