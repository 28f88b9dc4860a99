import type { StepNote } from '../../core/domain/verdicts.ts';
import type { Event } from '../../core/domain/record.ts';
import type { Look } from '../output.ts';
import { secondsBetween } from '../../core/domain/time.ts';

/** The styles of the ends of steps and units. */
export const STATUS_LOOKS = { completed: 'green', failed: 'red', skipped: 'yellow' } as const satisfies Record<string, Look>;

/** Returns the fact that an event of a program records besides its content, in one line; undefined if it records none. */
export function noteText({ step: note, timestamp }: Pick<Event, 'step' | 'timestamp'>): { text: string; look: Look } | undefined {
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

function attemptText(note: StepNote): { text: string; look: Look } | undefined {
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

function endText({ kind, status = 'completed', startedAt, reused, ...why }: StepNote, timestamp: string): { text: string; look: Look } {
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
