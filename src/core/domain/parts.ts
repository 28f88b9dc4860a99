import { type GuardrailReport, type GuardrailSnapshot, guardrailsOf } from './guardrails.ts';
import { HOOK_NOTES, type HookNotes, HOOKS_OF_ANCESTORS, hooksFor, hooksMs, type HookSnapshot, type HooksOfSnapshot } from './hooks.ts';
import type { JsonObject } from './json.ts';
import { PERMISSION_NOTES, permissionLine, PERMISSIONS_OF_ANCESTORS, type PermissionsOfSnapshot } from './permissions.ts';
import { QUIET_HOURS_OF_ANCESTORS, type QuietHoursOfSnapshot } from './quiet-hours.ts';
import type * as s from './shape.ts';

// The parts of a run's shapes that belong to capabilities: each is declared in its capability's file, and listed here.

/** Fields of the snapshot of an agent. */
export interface SnapshotParts extends HooksOfSnapshot, PermissionsOfSnapshot, QuietHoursOfSnapshot {}

/** Members of an event. */
export const EVENT_PARTS = { ...PERMISSION_NOTES };

interface EventParts extends s.ObjectOf<typeof EVENT_PARTS> {}

/** Returns the records of capabilities in an event, in the words of messages. */
export function partLines(author: string, { permissions }: EventParts): string[] {
  return permissions === undefined ? [] : [permissionLine(author, permissions)];
}

/** Returns the records of capabilities in an event without ids and times, which differ between two otherwise equal runs. */
export function withoutStamps({ permissions }: EventParts): EventParts {
  return permissions === undefined ? {} : { permissions: { ...permissions, id: '', at: '' } };
}

/** Members of the record of a call, of a step, and of the result of a run. */
export const RECORD_PARTS = { ...HOOK_NOTES };

/** The notes of capabilities about their work in an activity: on a model's answer, a summary, or the result of a call. */
export interface ActivityNotes extends HookNotes {}

/** Returns the joined notes of one or several values, such as an activity's results, in order. */
export function notesOf(...all: readonly ActivityNotes[]): ActivityNotes {
  const names = Object.keys(RECORD_PARTS) as (keyof ActivityNotes)[];
  const joined = names.map((name) => [name, all.flatMap((one) => one[name] ?? [])] as const);
  return Object.fromEntries(joined.filter(([, notes]) => notes.length > 0));
}

/** Fields of the input of a tool's activity: the work of capabilities on its result. */
export interface ToolInputParts {
  hooks?: HookSnapshot[];
}

/** The review of a response's calls by capabilities. */
export interface CallReview extends ActivityNotes {
  /** Call id → why the call must not run. */
  problems?: Record<string, string>;
  /** Call id → the arguments that replace the model's. */
  rewrites?: Record<string, JsonObject>;
  /** Call id → text that the model reads along with its result. */
  injections?: Record<string, string>;
  /** The guardrails' checks of the calls, if any did not simply pass or used a model. */
  guardrails?: GuardrailReport;
}

/** The ancestors' rules that a run receives with its input. */
export const RULES_OF_ANCESTORS = { ...HOOKS_OF_ANCESTORS, ...PERMISSIONS_OF_ANCESTORS, ...QUIET_HOURS_OF_ANCESTORS };

export interface InheritedRules extends s.ObjectOf<typeof RULES_OF_ANCESTORS> {}

/** Returns the rules that a run inherits from its ancestors. */
export function inheritedRules(parent: InheritedRules = {}): InheritedRules {
  const names = Object.keys(RULES_OF_ANCESTORS) as (keyof InheritedRules)[];
  return Object.fromEntries(names.filter((name) => parent[name] !== undefined).map((name) => [name, parent[name]]));
}

/** The rules that a run passes with a message to a session that it keeps. */
export const LATER_RULES = { ...PERMISSIONS_OF_ANCESTORS };

export { addedInstructions, mostNoteBytes } from './hooks.ts';

export { isDeniedByName } from './permissions.ts';

/** A point of the conversation where capabilities are asked: messages that no model has read, or an answer before it counts. */
export type ConversationPoint = 'input' | 'output';

/** The findings at a point. */
export interface PointReport extends GuardrailReport {}

/** One finding at a point. */
export type PointFinding = PointReport['findings'][number];

/** The parts of a snapshot that say which checks run at a point. */
interface AskedParts extends HooksOfSnapshot {
  guardrails?: readonly GuardrailSnapshot[];
}

/** A check at a point. `failOpen`: if it fails, its subject passes. */
interface AskedAtPoint {
  name: string;
  failOpen?: true;
}

/** Returns the checks at a point, in order: guardrails, then hooks. */
export function askedAt(snapshot: AskedParts, point: ConversationPoint): AskedAtPoint[] {
  const hooks = hooksFor(snapshot, point).map(({ name, failClosed }) => ({ name, ...(failClosed ? {} : { failOpen: true as const }) }));
  return [...guardrailsOf(snapshot, point), ...hooks];
}

/** Returns their time limit in milliseconds. Guardrails run in parallel, hooks sequentially. */
export function timeAt(snapshot: AskedParts, point: ConversationPoint): number {
  const ofGuardrails = guardrailsOf(snapshot, point).map(({ timeoutMs }) => timeoutMs);
  return Math.max(...ofGuardrails, hooksMs(hooksFor(snapshot, point)));
}

/** True if answers are checked before they count: nothing that may be the answer is shown before it has passed. */
export function checksAnswers(snapshot: AskedParts): boolean {
  return askedAt(snapshot, 'output').length > 0;
}
