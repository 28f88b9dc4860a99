import { isToolCall } from '../../../core/domain/content/content.ts';
import type { RunStatus } from '../../../core/domain/run/status.ts';
import type { StreamItem } from '../../../client/stream/stream-item.ts';

/** The most names in a message. */
const MOST_NAMES = 10;

const STATUS_TEXTS: Partial<Record<RunStatus, string>> = {
  running: 'The agent works',
  pending_confirmation: 'The run waits for a person to decide',
  paused: 'The run is paused',
};

/** Returns an item of a run's stream as a message of progress; undefined for one that says nothing new. It has names alone, no content. */
export function progressText(item: StreamItem): string | undefined {
  switch (item.type) {
    case 'event': {
      const { content, given } = item.event;
      const calls = content.filter(isToolCall).map(({ name }) => name);
      return calls.length === 0 || given === true ? undefined : `The agent calls ${namesText(calls)}`;
    }
    case 'step':
      return `Step ${item.step.step} is done`;
    case 'status':
      return STATUS_TEXTS[item.status];
    default:
      return undefined;
  }
}

/** Joins the names of tools: `search (2), refund`. */
export function namesText(names: readonly string[]): string {
  const distinct = [...new Set(names)];
  const shown = distinct.slice(0, MOST_NAMES).map((name) => {
    const count = names.filter((one) => one === name).length;
    return count === 1 ? name : `${name} (${count})`;
  });
  return [...shown, ...(distinct.length > MOST_NAMES ? [`${distinct.length - MOST_NAMES} more`] : [])].join(', ');
}
