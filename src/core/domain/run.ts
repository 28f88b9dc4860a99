import { cutText } from './byte-budgets.ts';
import { depsProblem } from './deps.ts';
import { defined, isJsonObject } from './json.ts';
import * as s from './shape.ts';
import { unknownField } from './text.ts';

/**
 * The statuses of ended runs. `max_iterations_reached`: it reached the limit of steps. `limit_reached`: it reached any other
 * limit, which the stop reason names.
 */
export const TERMINAL_STATUSES = ['completed', 'max_iterations_reached', 'limit_reached', 'error', 'cancelled'] as const;

/** The status of a run that has ended. @useDeclaredType */
export type TerminalStatus = (typeof TERMINAL_STATUSES)[number];
export const TERMINAL_STATUS: s.Shape<TerminalStatus> = s.oneOf(...TERMINAL_STATUSES);

/** The statuses that a run can have. `idle`: a session that waits for a message. */
export const RUN_STATUSES = ['running', 'pending_confirmation', 'paused', 'idle', ...TERMINAL_STATUSES] as const;

/** The status of a run at any moment. `idle`: a session that waits for a message. @useDeclaredType */
export type RunStatus = (typeof RUN_STATUSES)[number];
export const RUN_STATUS: s.Shape<RunStatus> = s.oneOf(...RUN_STATUSES);

/** The reason why a run ended; `closed` if a caller closed a session. More precise than the status: it names the limit. */
export type StopReason =
  | 'final_answer'
  | 'step_limit'
  | 'token_budget'
  | 'cost_budget'
  | 'tool_call_limit'
  | 'deadline'
  | 'guardrail'
  | 'closed'
  | 'cancelled'
  | 'error';

/** True for the status of a run that has ended. */
export function isTerminal(status: RunStatus): status is TerminalStatus {
  return (TERMINAL_STATUSES as readonly string[]).includes(status);
}

/** Returns the status of a run that ended at a limit. */
export function limitStatus(stopReason: StopReason): 'max_iterations_reached' | 'limit_reached' {
  return stopReason === 'step_limit' ? 'max_iterations_reached' : 'limit_reached';
}

/** True for the status of a run that ended at a limit. */
export function isLimitStatus(status: RunStatus): status is 'max_iterations_reached' | 'limit_reached' {
  return status === 'max_iterations_reached' || status === 'limit_reached';
}

const PRINCIPAL_NAME = s.boundedText({ minLength: 1, maxLength: 200 });

const IDENTITY_MEMBERS = {
  /** The operator's customer that the user belongs to. */
  tenant: s.optional(PRINCIPAL_NAME),
  /** The user, as named by your service. */
  user: s.optional(PRINCIPAL_NAME),
};

/** The identifying part of a principal. Claims may differ between runs. */
export interface Identity extends s.ObjectOf<typeof IDENTITY_MEMBERS> {}
export const IDENTITY: s.Shape<Identity> = s.closedObject(IDENTITY_MEMBERS);

const PRINCIPAL_MEMBERS = {
  ...IDENTITY_MEMBERS,
  /** Facts about the user that tools rely on, such as roles. */
  claims: s.optional(s.JSON_OBJECT),
};

/**
 * The identity on whose behalf a run acts. It is set at the start, fixed for the run, inherited by its children, and read-only for tools.
 */
export interface Principal extends s.ObjectOf<typeof PRINCIPAL_MEMBERS> {}
export const PRINCIPAL: s.Shape<Principal> = s.closedObject(PRINCIPAL_MEMBERS);

/** Describes a field that a principal does not have; undefined if there is none. */
export function unknownPrincipalField(principal: object): string | undefined {
  return unknownField(principal, PRINCIPAL_MEMBERS);
}

/** An identity as given: missing members may be present as undefined. */
type GivenIdentity = { [Name in keyof Identity]: Identity[Name] | undefined };

/** Returns the identifying part of a principal. */
export function identityOf({ tenant, user }: GivenIdentity): Identity {
  return defined({ tenant, user });
}

/** True for the same tenant and the same user. A missing value only equals a missing value. */
export function isSameIdentity(one: GivenIdentity, other: GivenIdentity): boolean {
  return one.tenant === other.tenant && one.user === other.user;
}

/** Returns the identity on whose behalf a run acts, as readable text: `ada of acme`. Undefined without a tenant and a user. */
export function identityText({ tenant, user }: Identity): string | undefined {
  if (user === undefined) return tenant === undefined ? undefined : `tenant ${tenant}`;
  return tenant === undefined ? user : `${user} of ${tenant}`;
}

/**
 * Describes a tenant or user that is given as undefined, as a lookup that finds nothing returns it: without this member, the principal
 * would be another one.
 */
export function absentNameProblem(principal: unknown): string | undefined {
  if (!isJsonObject(principal)) return undefined;
  const name = (['tenant', 'user'] as const).find((one) => Object.hasOwn(principal, one) && principal[one] === undefined);
  return name === undefined ? undefined : `"${name}" of "principal" is undefined: give the ${name}, or leave "${name}" out`;
}

/**
 * Describes why a given principal cannot be recorded: a name that is undefined, or claims that deps could not have, such as a text under a
 * credential's name or a value that is not JSON.
 */
export function givenPrincipalProblem(principal: Principal | undefined): string | undefined {
  const absent = absentNameProblem(principal);
  if (absent !== undefined) return absent;
  return principal?.claims === undefined ? undefined : depsProblem(principal.claims, 'principal.claims');
}

const SUBJECT_MEMBERS = {
  /** The agent or the program that the run began with. */
  agentName: s.TEXT,
  /** The tenant on whose behalf it acts. Absent without a principal, or with one that has no tenant. */
  tenant: s.optional(s.TEXT),
  /** The user on whose behalf it acts. Absent without a principal, or with one that has no user. */
  user: s.optional(s.TEXT),
  /** The tags that the run was started with. */
  tags: s.optional(s.listOf(s.TEXT)),
  /** The title of a session. */
  title: s.optional(s.TEXT),
  /** The beginning of the user's request, on one line: the first message of the run, or the newest message of a session. */
  question: s.optional(s.described(s.TEXT, 'The beginning of what the user asked.')),
};

/**
 * The information about a run that an approver needs in addition to the waiting call. Texts are short, and those of users and models are
 * untrusted: escape them when showing them.
 */
export interface RunSubject extends s.ObjectOf<typeof SUBJECT_MEMBERS> {}
export const RUN_SUBJECT: s.Shape<RunSubject> = s.object(SUBJECT_MEMBERS, {
  description: 'Who the run acts for, and what it is about. The texts are untrusted: escape them.',
});

/** The subject of a notice. */
export type NoticeCode =
  /** A tool was left out or adapted, because its server describes it incorrectly. */
  | 'tool_adapted'
  /** The provider refused a request, and accepted it in another form. */
  | 'request_adapted'
  /** The provider read much less from its cache than it could have. */
  | 'cache_lost'
  /** The conversation was changed, because the provider refused it. */
  | 'conversation_repaired';

export const NOTICE = s.object({
  /** The kind of omission or change. */
  code: s.shape<NoticeCode>(s.TEXT),
  /** What was left out or changed, and why, in words. */
  message: s.TEXT,
});

/** A fact that a person should know although the run continues: what was left out or changed, and why. */
export interface Notice extends s.ValueOf<typeof NOTICE> {}

/** The maximum number of notices in one event: the last one counts the rest. */
const MOST_NOTICES = 20;

/** The maximum bytes of JSON of a message, which may quote a server. */
const MESSAGE_BYTES = 400;

/** Returns notices that fit into one event. */
export function boundNotices(notices: readonly Notice[]): Notice[] {
  const brief = notices.map(({ code, message }) => ({ code, message: cutText(message, MESSAGE_BYTES) }));
  if (brief.length <= MOST_NOTICES) return brief;
  const kept = brief.slice(0, MOST_NOTICES - 1);
  const left = brief.length - kept.length;
  return [...kept, { code: brief[kept.length]?.code ?? 'request_adapted', message: `and ${left} more` }];
}

const RANGE_MEMBERS = {
  /** The offset of the first event. */
  from: s.NUMBER,
  /** The offset after the last event. */
  through: s.NUMBER,
};

/** A range of events of a run: from the offset `from` up to, but not including, `through`. */
export interface EventRange extends s.ObjectOf<typeof RANGE_MEMBERS> {}

/** Events that the archive is storing. The run continues, or ends, once they are stored or all attempts have failed. */
export interface Archiving extends s.ValueOf<typeof ARCHIVING> {}
export const ARCHIVING = s.object({
  ...RANGE_MEMBERS,
  /** ISO 8601. */
  since: s.TIMESTAMP,
});

/** Events that are not in the archive because it failed for too long. They are still in the histories of their executions. */
export interface NotArchived extends s.ValueOf<typeof NOT_ARCHIVED> {}
export const NOT_ARCHIVED = s.object({
  ...RANGE_MEMBERS,
  /** The error of the last attempt. */
  message: s.TEXT,
});

/** Describes a range by its first and last event: `events 0 to 7`, or `event 7`. */
export function eventsText({ from, through }: EventRange): string {
  return through - from === 1 ? `event ${from}` : `events ${from} to ${through - 1}`;
}

/** The size of one execution at which a run continues as new. It also does so when the server suggests it. */
export interface ContinueAsNewThresholds {
  /** Number of history events. */
  events: number;
  /** Bytes of history. */
  bytes: number;
  /** Number of Updates accepted by one execution. */
  updates: number;
}

/** The default thresholds. They are below the server's (4,096 events, 4 MiB, 1,800 Updates), so that a started step still fits. */
export const DEFAULT_THRESHOLDS: ContinueAsNewThresholds = { events: 3_600, bytes: 3_400_000, updates: 1_000 };
