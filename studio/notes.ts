import type { Decision, Event } from './api-types.ts';
import { span, statusText } from './format.ts';
import { digits, type ProgramNote, TEXTS } from './texts.ts';

// What an event records besides its content, in sentences.

/** A fact of the record in words. */
export interface NoteText {
  text: string;
  tone: 'calm' | 'good' | 'warn' | 'bad';
}

type Tone = NoteText['tone'];

/** Returns the facts that an event records besides its content. `isInCall`: its decision is shown with the call that it is about. */
export function noteTexts(event: Event, { isInCall = false } = {}): NoteText[] {
  const { notes } = TEXTS;
  const found: NoteText[] = [];
  const say = <Value>(value: Value | undefined, text: (value: Value) => string, tone: Tone = 'calm'): void => {
    if (value !== undefined) found.push({ text: text(value), tone });
  };
  const { turn, step, guardrails, compaction, raised, failed, memory, refresh, permissions, contextUpdates, refused } = noted(event);
  if (!isInCall) say(event.decision, decisionText, decisionTone(event.decision));
  say(refused, notes.refused, 'warn');
  say(raised, ({ limits }) => notes.raised(limitsText(limits)), 'good');
  say(permissions, permissionsText);
  for (const finding of guardrails?.findings ?? []) say(finding, notes.guardrail, finding.outcome === 'warned' ? 'warn' : 'bad');
  if (guardrails?.findings?.length === 0) say(notes.noFindings, String);
  say(memory, ({ entries, unavailable }) => (unavailable === undefined ? notes.remembers(entries ?? 0) : notes.noMemory(unavailable)));
  say(failed, ({ code }) => notes.failed(code), 'bad');
  say(compaction, notes.compaction);
  say(turn, turnText, turn?.status === 'completed' ? 'calm' : 'warn');
  say(event.cleared, () => notes.cleared);
  say(event.title, notes.title);
  say(
    refresh,
    ({ failed: why }) => (why === undefined ? notes.resolved : notes.notResolved(why.code, why.message)),
    refresh?.failed ? 'warn' : 'calm',
  );
  say(event.interrupted, () => notes.interrupted, 'warn');
  for (const notice of event.notices ?? []) say(notice.message, notes.notice, 'warn');
  say(contextUpdates, (updates) => notes.changed(updates.flatMap(({ operations }) => operations.map(changeText))));
  say(step, notes.program, step?.error !== undefined || step?.status === 'failed' ? 'bad' : 'calm');
  return found;
}

/** The tool of approvals that raise the limits of a run. */
const RAISE_LIMITS = 'raise_limits';

/** Returns what a run waits for in words of a person: the name of a tool, or a higher limit. */
export function waitName(toolName: string): string {
  return toolName === RAISE_LIMITS ? TEXTS.higherLimit : toolName;
}

/** Says who has decided what, without the arguments or the answer, which are shown on their own. */
export function decisionText(decision: Decision): string {
  const { toolName, arguments: given } = decision;
  if (toolName === RAISE_LIMITS) return TEXTS.notes.decision(decision, TEXTS.notes.moreLimits(given && limitsText(given)), false);
  return TEXTS.notes.decision(decision, toolName, given !== undefined);
}

export function decisionTone(decision: Decision | undefined): Tone {
  return decision?.type === 'reject' ? 'bad' : 'good';
}

/** Returns limits in words: `20 steps, 2 calls of refund, $0.50`. What has no words is left out. */
export function limitsText(limits: object): string {
  return Object.entries(limits)
    .flatMap(([name, amount]: [string, unknown]) => {
      if (name === 'toolCallsByName' && typeof amount === 'object' && amount !== null)
        return Object.entries(amount).map(([tool, calls]) => TEXTS.callsOf(Number(calls), tool));
      const inWords = TEXTS.limits[name];
      if (inWords === undefined || typeof amount !== 'number') return [];
      return [inWords(name === 'deadlineMs' ? span(amount) : name === 'costUsd' ? String(amount) : digits(amount))];
    })
    .join(', ');
}

function turnText({ number, status, stopReason, error }: NonNullable<EventNotes['turn']>): string {
  const more = stopReason === status || stopReason === 'final_answer' ? '' : ` (${stopReason.replaceAll('_', ' ')})`;
  return TEXTS.notes.turn(number, `${statusText(status)}${more}${error === undefined || error === null ? '' : `: ${error}`}`);
}

const RULE_LISTS = ['deny', 'ask', 'allow'] as const;

function permissionsText({ permissions = {} }: NonNullable<EventNotes['permissions']>): string {
  const rules = RULE_LISTS.flatMap((list) => (permissions[list] ?? []).map((rule) => `${list} ${ruleText(rule)}`));
  return TEXTS.notes.permissions(permissions.mode, rules);
}

function ruleText({ tool, category, args = {}, capability }: Rule): string {
  return [
    ...(tool === undefined ? [] : [`tool ${tool}`]),
    ...(category === undefined ? [] : [`category ${category}`]),
    ...(capability === undefined ? [] : [`capability ${capability}`]),
    ...Object.entries(args).map(([path, glob]) => `${path} ${glob}`),
  ].join(', ');
}

function changeText({ op, key, value }: Operation): string {
  return op === 'delete' ? `${op} ${key}` : `${op} ${key} ${JSON.stringify(value)}`;
}

interface Rule {
  tool?: string;
  category?: string;
  capability?: string;
  args?: Record<string, string>;
}

interface Operation {
  op: string;
  key: string;
  value?: unknown;
}

/** Returns the notes of an event as far as the page reads them. */
export function noted(event: Event): EventNotes {
  return event as object;
}

/** The notes of an event whose members the API does not describe, as far as the page reads them. */
interface EventNotes {
  turn?: { number: number; status: string; stopReason: string; error?: string | null };
  step?: ProgramNote;
  guardrails?: { findings?: { name?: string; type?: string; outcome?: string; message?: string; callId?: string }[] };
  compaction?: { evicted?: unknown[]; summarized?: unknown; dropped?: unknown[] };
  raised?: { limits: object };
  failed?: { code: string };
  memory?: { entries?: number; unavailable?: string };
  refresh?: { failed?: { code: string; message: string } };
  permissions?: { permissions?: { mode?: string } & { [list in (typeof RULE_LISTS)[number]]?: Rule[] } };
  contextUpdates?: { operations: Operation[] }[];
  refused?: { request: string; by?: string; code: string; message: string };
}
