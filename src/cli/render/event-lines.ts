import { decider, type Decision, RAISE_LIMITS, type RefusedRequest } from '../../core/domain/approvals.ts';
import { type ContentItem, outputText, sourceText, type ToolCall } from '../../core/domain/content.ts';
import type { ContextOperation } from '../../core/domain/deps.ts';
import { defined, type JsonValue } from '../../core/domain/json.ts';
import { amountsOf, type LimitChanges } from '../../core/domain/limits.ts';
import type { Event, MemoryNote, RefreshNote, TurnNote } from '../../core/domain/record.ts';
import { oneLine, printable, printableLine } from '../../core/domain/text.ts';
import { secondsBetween } from '../../core/domain/time.ts';
import { resultText, RUN_CODE } from '../../core/domain/tool-calls.ts';
import { dollars, dollarsSpent, type EstimatedUsage, type Spent, type UsageStats } from '../../core/domain/usage.ts';
import type { StepNote } from '../../core/domain/verdicts.ts';
import { type Headline, lineText, type Look, type Output, visibleJson } from '../output.ts';
import { guardrailText } from './guardrail-lines.ts';
import { permissionsText } from './permission-lines.ts';

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

/** A part of an event's content: every layout below shows these parts in order, each in its own form. */
type EventPart =
  | { type: 'message'; text: string; byUser: boolean }
  | { type: 'call'; call: ToolCall }
  | { type: 'result'; name: string; text: string; isError: boolean }
  /** A text about a call that the model reads after its result. */
  | { type: 'note'; name: string; text: string }
  | { type: 'fact'; text: string; look: Look };

/** Returns the parts of an event: its content, and then the other fact that it records. */
function eventParts(event: Event): EventPart[] {
  const headline = eventHeadline(event);
  return [...event.content.flatMap(contentParts), ...(headline === undefined ? [] : [{ type: 'fact' as const, ...headline }])];
}

function contentParts(item: ContentItem): EventPart[] {
  switch (item.type) {
    case 'message':
      return [{ type: 'message', text: outputText(item.content), byUser: item.role === 'user' }];
    case 'tool_call':
      return [{ type: 'call', call: item }];
    case 'tool_result':
      return [
        { type: 'result', name: item.name, text: resultText(item.content), isError: item.status === 'error' },
        ...(item.notes ?? []).map((text) => ({ type: 'note' as const, name: item.name, text })),
      ];
  }
}

function entriesOf(event: Event): Entry[] {
  const { author, usage, answeredBy, estimated, failedAttempts, notices = [], sources = [], contextUpdates = [], caller } = event;
  const writer = caller === 'code' ? `${author}'s code` : author;
  const entries = eventParts(event).map((part): Entry => {
    switch (part.type) {
      case 'message':
        return { author: writer, text: part.text };
      case 'call':
        return { author: writer, text: `→ ${callText(part.call)}`, look: 'cyan' };
      case 'result':
        if (part.isError) return { author: part.name, text: `← ${errorText(part.text)}`, look: 'red' };
        return { author: part.name, text: `← ${part.text === '' ? '(nothing)' : part.text}` };
      case 'note':
        return { author: part.name, text: `note to the model: ${part.text}`, look: 'dim' };
      case 'fact':
        return { author, text: part.text, look: part.look };
    }
  });
  const changes = contextUpdates.flatMap(({ operations }) => operations.map(changeText));
  if (changes.length > 0) entries.push({ author, text: `deps: ${changes.join(', ')}`, look: 'dim' });
  for (const source of sources) entries.push({ author, text: `source: ${sourceText(source)}`, look: 'dim' });
  for (const { message } of notices) entries.push({ author, text: `note: ${message}`, look: 'yellow' });
  if (entries.length === 0) entries.push({ author, text: '(an empty answer)', look: 'dim' });
  const by = answeredBy === undefined ? '' : ` (${answeredBy})`;
  if (usage !== undefined) entries.push({ author, text: `${usageText(usage, estimated)}${by}`, look: 'dim' });
  if (failedAttempts !== undefined)
    entries.push({ author, text: `${attemptsUsageText(failedAttempts)} in attempts that failed`, look: 'dim' });
  return entries;
}

/** Returns an event as one line of a timeline, `author · text · fact`, without its notices. */
export function eventLine(event: Event, output: Pick<Output, 'look'>, full = false): string {
  const parts = eventParts(event);
  const fact = parts.find((part) => part.type === 'fact');
  const items = parts.flatMap((part) => (part.type === 'fact' ? [] : [partText(part)])).join(' ');
  const author = event.decision === undefined ? event.author : decider(event.decision);
  const text = lineText([items, fact?.text ?? ''].filter((one) => one.trim() !== '').join(' · '), full);
  return `${output.look('bold', printableLine(author))} · ${fact === undefined ? text : output.look(fact.look, text)}`;
}

/** Returns an event as lines of a timeline: one for its content, and one for each of its notices. */
export function timelineEventLines(event: Event, output: Pick<Output, 'look'>, full: boolean): string[] {
  const { author, notices = [] } = event;
  const noted = notices.map(({ message }) => output.look('yellow', lineText(`note: ${message}`, full)));
  return [
    ...(notices.length === 0 || eventParts(event).length > 0 ? [eventLine(event, output, full)] : []),
    ...noted.map((text) => `${output.look('bold', printableLine(author))} · ${text}`),
  ];
}

function partText(part: Exclude<EventPart, { type: 'fact' }>): string {
  switch (part.type) {
    case 'message':
      return part.text;
    case 'call':
      return `→ ${part.call.name} ${JSON.stringify(part.call.arguments)}`;
    case 'result':
      return `← ${part.isError ? errorText(part.text) : part.text}`;
    case 'note':
      return `(note to the model: ${part.text})`;
  }
}

/** The bytes of arguments or of a result that a line of a conversation shows. */
const CHAT_BYTES = 200;

/** Returns an event of a session as lines of the conversation: the text of the model, its calls with their results, and what was decided. */
export function chatEventLines(event: Event, output: Pick<Output, 'look'>): string[] {
  if (event.given) return [];
  if (event.compaction !== undefined) return [output.look('dim', '  (the earlier conversation was shortened)')];
  return eventParts(event).flatMap((part): string[] => {
    switch (part.type) {
      case 'message': {
        const text = printable(part.text);
        if (text.trim() === '') return [];
        return part.byUser ? [output.look('bold', `${printableLine(event.author)}: ${text}`)] : text.split('\n');
      }
      case 'call':
        return [`  → ${output.look('cyan', printableLine(part.call.name))} ${chatText(visibleJson(part.call.arguments))}`];
      case 'result':
        return [`  ← ${part.isError ? output.look('red', chatText(errorText(part.text))) : chatText(part.text)}`];
      case 'note':
        return [output.look('dim', `    note to the model: ${chatText(part.text)}`)];
      case 'fact':
        return event.turn?.status === 'completed' ? [] : [`  ${output.look(part.look, printableLine(part.text))}`];
    }
  });
}

function chatText(text: string): string {
  return oneLine(printableLine(text), CHAT_BYTES);
}

/** Returns a change of the deps as its tool wrote it: `append cart "table"`. */
function changeText(operation: ContextOperation): string {
  const { op, key } = operation;
  return op === 'delete' ? `${op} ${key}` : `${op} ${key} ${JSON.stringify(operation.value)}`;
}

/** Returns a call as `name(key: value, …)`, with values as JSON. Code is shown unchanged. */
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
  if (whole < 3600) return `${Math.floor(whole / 60)}m${twoDigits(whole % 60)}s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 1440) return `${Math.floor(minutes / 60)}h${twoDigits(minutes % 60)}m`;
  const hours = Math.floor(minutes / 60);
  return `${Math.floor(hours / 24)}d${twoDigits(hours % 24)}h`;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0');
}

/** Returns the usage of a model call: as the provider reported it, otherwise as estimated. */
function usageText(usage: UsageStats | null, estimated: EstimatedUsage | undefined): string {
  if (usage !== null) return reportedText(usage);
  return estimated === undefined ? 'tokens unknown' : estimatedText(estimated);
}

/** Returns the usage of failed attempts. */
function attemptsUsageText({ reported, estimated }: Spent): string {
  return [...(reported === undefined ? [] : [reportedText(reported)]), ...(estimated === undefined ? [] : [estimatedText(estimated)])].join(
    ', ',
  );
}

function reportedText(usage: UsageStats): string {
  const { totalTokens, promptTokens, completionTokens, cachedTokens, cacheWriteTokens, reasoningTokens } = usage;
  const parts = [
    ...(cachedTokens ? [`${cachedTokens} of them cached`] : []),
    ...(cacheWriteTokens ? [`${cacheWriteTokens} written to the cache`] : []),
  ];
  const read = [`${promptTokens} in`, ...parts].join(', ');
  const written = reasoningTokens ? `${completionTokens} out, ${reasoningTokens} of them reasoning` : `${completionTokens} out`;
  return `${totalTokens} tokens (${read}; ${written})${andCost(usage)}`;
}

function estimatedText(usage: EstimatedUsage): string {
  const { totalTokens, promptTokens, completionTokens } = usage;
  return `about ${totalTokens} tokens (${promptTokens} in; ${completionTokens} out)${andCost(usage)}, estimated`;
}

function andCost(usage: UsageStats | EstimatedUsage): string {
  const cost = dollarsSpent(usage);
  return cost === undefined ? '' : `, ${dollars(cost)}`;
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

/** A fact that an event may record in addition to its content. */
interface EventFact {
  isIn: (event: Event) => boolean;
  headline: (event: Event) => Headline | undefined;
  /** True if an event with this fact is a separate entry of a timeline, between the steps. */
  isBetweenSteps: boolean;
}

/** Returns the fact in a field of an event. */
function factOf<Field extends keyof Event>(
  field: Field,
  headlineOf: (value: NonNullable<Event[Field]>) => Headline,
  { isBetweenSteps }: Pick<EventFact, 'isBetweenSteps'>,
): EventFact {
  return {
    isIn: (event) => event[field] !== undefined,
    headline: (event) => {
      const value = event[field];
      return value === undefined || value === null ? undefined : headlineOf(value);
    },
    isBetweenSteps,
  };
}

const always = (text: string, look: Look) => (): Headline => ({ text, look });

/** The facts that events record. The first one that an event has is its headline. */
const EVENT_FACTS: readonly EventFact[] = [
  factOf('decision', (decision) => ({ text: eventDecisionText(decision), look: decision.type === 'reject' ? 'red' : 'green' }), {
    isBetweenSteps: true,
  }),
  factOf('refused', (refused) => ({ text: refusalText(refused), look: 'yellow' }), { isBetweenSteps: true }),
  factOf('raised', ({ limits }) => ({ text: `raised limits: ${limitsText(limits)}`, look: 'green' }), { isBetweenSteps: true }),
  factOf('permissions', permissionsText, { isBetweenSteps: true }),
  factOf('guardrails', guardrailText, { isBetweenSteps: false }),
  factOf('memory', memoryText, { isBetweenSteps: true }),
  factOf('failed', ({ code }) => ({ text: `(the model call failed: ${code})`, look: 'red' }), { isBetweenSteps: true }),
  factOf('interrupted', always('(interrupted)', 'yellow'), { isBetweenSteps: true }),
  factOf('partial', always('(other calls of the same answer wait for a decision)', 'dim'), { isBetweenSteps: false }),
  factOf('turn', turnText, { isBetweenSteps: true }),
  factOf('cleared', always('the conversation is emptied', 'dim'), { isBetweenSteps: false }),
  factOf('refresh', refreshText, { isBetweenSteps: true }),
];

/**
 * Returns the fact that an event records in addition to its content, in one line, with its style, or undefined.
 */
function eventHeadline(event: Event): Headline | undefined {
  const { step, timestamp } = event;
  return EVENT_FACTS.find(({ isIn }) => isIn(event))?.headline(event) ?? noteText({ timestamp, ...defined({ step }) });
}

/** True for an event whose facts put it between the steps of a timeline. */
export function isNotedBetweenSteps(event: Event): boolean {
  return EVENT_FACTS.some(({ isBetweenSteps, isIn }) => isBetweenSteps && isIn(event));
}

/** Returns what a memory contributed to a model call in one line, with its style. */
function memoryText(note: MemoryNote): Headline {
  if ('unavailable' in note) return { text: `(the memory was not available: ${printableLine(note.unavailable)})`, look: 'yellow' };
  return { text: `(${note.entries === 1 ? '1 entry' : `${note.entries} entries`} from the memory)`, look: 'dim' };
}

/** The past tense of each type of decision. */
export const DECIDED = { approve: 'approved', reject: 'rejected', respond: 'answered' } as const satisfies Record<Decision['type'], string>;

const REMEMBERED = { tool: 'every further call of the tool', arguments: 'further calls with equal arguments' } as const;

/** Returns a decision as text. `subject` follows the verb: the call that was decided, or the approver. */
export function decisionText({ type, arguments: edited, content, reason, remember, source }: Decision, subject: string): string {
  const answerOrEdit = type === 'respond' ? content : edited;
  return [
    `${DECIDED[type]} ${subject}`,
    ...(answerOrEdit === undefined ? [] : [` with ${visibleJson(answerOrEdit)}`]),
    ...(reason === undefined || reason === '' ? [] : [`: ${reason}`]),
    ...(remember === undefined ? [] : [`; holds for ${REMEMBERED[remember]}`]),
    ...(source === 'remembered' ? ['; as remembered'] : []),
  ].join('');
}

/** Returns a decision as text, for output that already shows its author. */
function eventDecisionText(decision: Decision): string {
  const { type, toolName, callId, arguments: limits, reason } = decision;
  if (toolName !== RAISE_LIMITS) return decisionText(decision, `${toolName} (call ${callId})`);
  if (type === 'approve') return `approved raised limits: ${limitsText(limits as LimitChanges)}`;
  return `rejected raised limits${reason === undefined ? '' : `: ${reason}`}`;
}

/** Returns a refused request as text, with the reason. */
function refusalText({ request, callId, code, message }: RefusedRequest): string {
  return `${request}${callId === undefined ? '' : ` of call ${callId}`} was refused (${code}): ${message}`;
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const;

/** Returns limits as one line: `steps 20, calls of refund 2, cost $0.50, deadline 2h`. */
export function limitsText(limits: LimitChanges): string {
  const amounts = amountsOf(limits);
  const counts = amounts.filter(({ least }) => least !== undefined).map(({ words, amount }) => `${words} ${amount}`);
  const ofTools = Object.entries(limits.toolCallsByName ?? {}).map(([name, limit]) => `calls of ${name} ${limit}`);
  return [
    ...counts,
    ...ofTools,
    ...amounts.filter(({ least }) => least === undefined).map(({ words, amount }) => `${words} ${dollars(amount)}`),
    ...(limits.deadlineMs === undefined ? [] : [`deadline ${durationText(limits.deadlineMs)} from the start`]),
  ].join(', ');
}

/** Returns a duration in its largest whole unit: `90m`, `2h`, `1d`. */
function durationText(ms: number): string {
  const [unit, length] = UNITS.find(([, one]) => ms % one === 0) ?? ['ms', 1];
  return `${ms / length}${unit}`;
}

/** The styles of the ends of steps and units. */
export const STATUS_LOOKS = { completed: 'green', failed: 'red', skipped: 'yellow' } as const satisfies Record<string, Look>;

/** Returns the fact that an event of a program records in addition to its content, in one line, or undefined. */
function noteText({ step: note, timestamp }: Pick<Event, 'step' | 'timestamp'>): Headline | undefined {
  switch (note?.type) {
    case 'start':
      if (note.child !== undefined) return { text: `→ run ${note.child}`, look: 'cyan' };
      return note.attempt === undefined ? { text: `(${note.kind} begins)`, look: 'dim' } : undefined;
    case 'attempt':
      return attemptText(note);
    case 'end':
      return endText(note, timestamp);
    case undefined:
      return undefined;
  }
}

function attemptText(note: StepNote): Headline | undefined {
  const problems = attemptProblems(note).join('; ');
  if (note.error !== undefined) return { text: `✗ attempt ${note.attempt ?? 1}: ${problems}`, look: 'red' };
  if (problems !== '') return { text: `warning: ${problems}`, look: 'yellow' };
  return note.child === undefined ? undefined : { text: `← run ${note.child}`, look: 'dim' };
}

/** Returns what the checks of an attempt found, warnings included, else its failure; nothing for one that passed them all. */
export function attemptProblems({ verdict, error }: StepNote): string[] {
  const { anchors, misfit, violations = [] } = verdict ?? {};
  const breaches = [...(anchors?.breaches ?? []), ...(anchors?.warnings ?? [])];
  const found = [
    ...breaches.flatMap((breach) => breach.violations.map((violation) => `${breach.anchor}: ${violation}`)),
    ...(misfit === undefined ? [] : [misfit]),
    ...violations.map(({ message }) => message),
  ];
  return found.length > 0 || error === undefined ? found : [error.message];
}

function endText({ kind, status = 'completed', startedAt, reused, ...why }: StepNote, timestamp: string): Headline {
  const took =
    startedAt === undefined || status === 'skipped' ? '' : ` in ${Math.max(0, secondsBetween(startedAt, timestamp)).toFixed(2)}s`;
  const reason = endReason({ status, ...why });
  const text = `(${kind} ${status}${took}${reused ? ', as in an earlier run' : ''}${reason === undefined ? '' : `: ${reason}`})`;
  return { text, look: status === 'completed' ? 'dim' : STATUS_LOOKS[status] };
}

/** Returns the reason of an end that needs one. */
export function endReason({ status, reason, error }: Pick<StepNote, 'status' | 'reason' | 'error'>): string | undefined {
  return reason ?? (status === 'failed' ? error?.message : undefined);
}

/** Returns the end of a turn of a session in one line, with its style: `turn 3 ended: max_iterations_reached (step_limit)`. */
export function turnText({ number, status, stopReason, error }: TurnNote): Headline {
  const more = stopReason === 'final_answer' || stopReason === status ? '' : ` (${stopReason})`;
  const why = error === undefined ? '' : `: ${error}`;
  return { text: `turn ${number} ended: ${status}${more}${why}`, look: LOOKS[status] };
}

const LOOKS: Record<TurnNote['status'], Look> = {
  completed: 'dim',
  max_iterations_reached: 'yellow',
  limit_reached: 'yellow',
  error: 'red',
  cancelled: 'yellow',
};

/** Returns the new resolution of the agent of a session in one line, with its style. */
export function refreshText(refresh: RefreshNote): Headline {
  if ('digest' in refresh) return { text: `the agent is resolved again: digest ${refresh.digest}`, look: 'dim' };
  const { code, message } = refresh.failed;
  return { text: `the agent could not be resolved again, and stays as it was (${code}): ${message}`, look: 'yellow' };
}

/** Returns the text of an error result, which may say itself that it is one. */
function errorText(text: string): string {
  return `error: ${text.replace(/^Error: /, '')}`;
}
