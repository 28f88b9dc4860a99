import { type GuardrailReport, type GuardrailSnapshot, guardrailsOf } from './guardrails.ts';
import { HOOK_NOTES, type HookNotes, HOOKS_OF_ANCESTORS, hooksFor, hooksMs, type HookSnapshot, type HooksOfSnapshot } from './hooks.ts';
import type { JsonObject } from './json.ts';
import { PERMISSION_NOTES, permissionLine, PERMISSIONS_OF_ANCESTORS, type PermissionsOfSnapshot } from './permissions.ts';
import { QUIET_HOURS_OF_ANCESTORS, type QuietHoursOfSnapshot } from './quiet-hours.ts';
import type * as s from './shape.ts';

// What capabilities have in the shapes of a run: each is declared in the file of its capability, and listed here.

/** Fields of the snapshot of an agent. */
export interface SnapshotParts extends HooksOfSnapshot, PermissionsOfSnapshot, QuietHoursOfSnapshot {}

/** Members of an event. */
export const EVENT_PARTS = { ...PERMISSION_NOTES };

interface EventParts extends s.ObjectOf<typeof EVENT_PARTS> {}

/** Returns what capabilities have recorded in an event, in the words of messages. */
export function partLines(author: string, { permissions }: EventParts): string[] {
  return permissions === undefined ? [] : [permissionLine(author, permissions)];
}

/** Returns what capabilities have recorded in an event, without the ids and times that differ between two equal runs. */
export function withoutStamps({ permissions }: EventParts): EventParts {
  return permissions === undefined ? {} : { permissions: { ...permissions, id: '', at: '' } };
}

/** Members of the record of a call, of a step, and of the result of a run. */
export const RECORD_PARTS = { ...HOOK_NOTES };

/** The notes of capabilities on what an activity has done for them: on an answer of a model, a summary, the result of a call. */
export interface ActivityNotes extends HookNotes {}

/** Returns the notes in what has some, such as the result of an activity, or in several, one after the other. */
export function notesOf(...all: readonly ActivityNotes[]): ActivityNotes {
  const names = Object.keys(RECORD_PARTS) as (keyof ActivityNotes)[];
  const joined = names.map((name) => [name, all.flatMap((one) => one[name] ?? [])] as const);
  return Object.fromEntries(joined.filter(([, notes]) => notes.length > 0));
}

/** Fields of the input of a tool's activity: what the worker is to do for capabilities with its result. */
export interface ToolInputParts {
  hooks?: HookSnapshot[];
}

/** The review of the calls of one response by capabilities. */
export interface CallReview extends ActivityNotes {
  /** Call id → why the call must not run. */
  problems?: Record<string, string>;
  /** Call id → the arguments that it runs with instead of those of the model. */
  rewrites?: Record<string, JsonObject>;
  /** Call id → text that the model reads with its result. */
  injections?: Record<string, string>;
  /** The checks of the calls by guardrails, if one did not simply pass, or a check has used a model. */
  guardrails?: GuardrailReport;
}

/** The rules that the ancestors of a run pass on to it with its input. */
export const RULES_OF_ANCESTORS = { ...HOOKS_OF_ANCESTORS, ...PERMISSIONS_OF_ANCESTORS, ...QUIET_HOURS_OF_ANCESTORS };

export interface InheritedRules extends s.ObjectOf<typeof RULES_OF_ANCESTORS> {}

/** Returns the rules that a run has from its ancestors. */
export function inheritedRules(parent: InheritedRules = {}): InheritedRules {
  const names = Object.keys(RULES_OF_ANCESTORS) as (keyof InheritedRules)[];
  return Object.fromEntries(names.filter((name) => parent[name] !== undefined).map((name) => [name, parent[name]]));
}

/** The rules that a run passes on to a session that it keeps, with a message. */
export const LATER_RULES = { ...PERMISSIONS_OF_ANCESTORS };

export { addedInstructions } from './hooks.ts';

export { isDeniedByName } from './permissions.ts';

/** A point of the conversation at which capabilities are asked: messages that no model has read, or an answer before it counts. */
export type ConversationPoint = 'input' | 'output';

/** What those who are asked there have found. */
export interface PointReport extends GuardrailReport {}

/** One finding at a point. */
export type PointFinding = PointReport['findings'][number];

/** The parts of a snapshot that say who is asked there. */
interface AskedParts extends HooksOfSnapshot {
  guardrails?: readonly GuardrailSnapshot[];
}

/** One of those who are asked at a point. `failOpen`: it lets pass what it could not check. */
interface AskedAtPoint {
  name: string;
  failOpen?: true;
}

/** Returns who is asked at a point, in order: guardrails, then hooks. */
export function askedAt(snapshot: AskedParts, point: ConversationPoint): AskedAtPoint[] {
  const hooks = hooksFor(snapshot, point).map(({ name, failClosed }) => ({ name, ...(failClosed ? {} : { failOpen: true as const }) }));
  return [...guardrailsOf(snapshot, point), ...hooks];
}

/** Returns the milliseconds that they may take. Guardrails are asked at the same time, and hooks one after the other. */
export function timeAt(snapshot: AskedParts, point: ConversationPoint): number {
  const ofGuardrails = guardrailsOf(snapshot, point).map(({ timeoutMs }) => timeoutMs);
  return Math.max(...ofGuardrails, hooksMs(hooksFor(snapshot, point)));
}

/** True if answers are checked before they count: nothing that may be one is shown before it has passed. */
export function checksAnswers(snapshot: AskedParts): boolean {
  return askedAt(snapshot, 'output').length > 0;
}
