import { type Decision, RAISE_LIMITS, type RefusedRequest } from '../../core/domain/approvals.ts';
import { defined } from '../../core/domain/json.ts';
import { amountsOf, type LimitChanges } from '../../core/domain/limits.ts';
import type { Event, MemoryNote, RefreshNote, TurnNote } from '../../core/domain/record.ts';
import { printableLine } from '../../core/domain/text.ts';
import { secondsBetween } from '../../core/domain/time.ts';
import { dollars } from '../../core/domain/usage.ts';
import type { StepNote } from '../../core/domain/verdicts.ts';
import { type Look, visibleJson } from '../output.ts';
import { guardrailText } from './guardrail-lines.ts';
import type { Headline } from './headline.ts';
import { permissionsText } from './permission-lines.ts';

/** A fact that an event may record besides its content. */
interface EventFact {
  isIn: (event: Event) => boolean;
  headline: (event: Event) => Headline | undefined;
  /** An event with it stands in a timeline by itself, between the steps. */
  isBetweenSteps: boolean;
}

/** Returns the fact that a field of an event is. */
function fact<Field extends keyof Event>(
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

/** The facts that events record, in the order in which the first one is the headline of its event. */
const EVENT_FACTS: readonly EventFact[] = [
  fact('decision', (decision) => ({ text: eventDecisionText(decision), look: decision.type === 'reject' ? 'red' : 'green' }), {
    isBetweenSteps: true,
  }),
  fact('refused', (refused) => ({ text: refusalText(refused), look: 'yellow' }), { isBetweenSteps: true }),
  fact('raised', ({ limits }) => ({ text: `raised limits: ${limitsText(limits)}`, look: 'green' }), { isBetweenSteps: true }),
  fact('permissions', permissionsText, { isBetweenSteps: true }),
  fact('guardrails', guardrailText, { isBetweenSteps: false }),
  fact('memory', memoryText, { isBetweenSteps: true }),
  fact('failed', ({ code }) => ({ text: `(the model call failed: ${code})`, look: 'red' }), { isBetweenSteps: true }),
  fact('interrupted', always('(interrupted)', 'yellow'), { isBetweenSteps: true }),
  fact('partial', always('(other calls of the same answer wait for a decision)', 'dim'), { isBetweenSteps: false }),
  fact('turn', turnText, { isBetweenSteps: true }),
  fact('cleared', always('the conversation is emptied', 'dim'), { isBetweenSteps: false }),
  fact('refresh', refreshText, { isBetweenSteps: true }),
];

/**
 * Returns the fact that an event records besides its content, in one line, with its style; undefined if it records
 * none.
 */
export function eventHeadline(event: Event): Headline | undefined {
  const { step, timestamp } = event;
  return EVENT_FACTS.find(({ isIn }) => isIn(event))?.headline(event) ?? noteText({ timestamp, ...defined({ step }) });
}

/** True for an event whose facts put it between the steps of a timeline. */
export function isNotedBetweenSteps(event: Event): boolean {
  return EVENT_FACTS.some(({ isBetweenSteps, isIn }) => isBetweenSteps && isIn(event));
}

/** Returns the part that a memory had in a model call in one line, with its style. */
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

/** Returns the fact that an event of a program records besides its content, in one line; undefined if it records none. */
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
