import { decider } from '../core/domain/approvals.ts';
import { type ContentItem, outputText } from '../core/domain/content.ts';
import type { Event } from '../core/domain/record.ts';
import { resultText } from '../core/domain/tool-calls.ts';

/**
 * Returns the record of a run as lines, one for each event: `user: Where is order 42?`, `clerk calls look_up
 * {"order":42}`, `look_up: on its way`, `look_up failed: no such order`, `ann approves refund`.
 */
export function timelineOf({ events }: { events: readonly Event[] }): string[] {
  return events.flatMap((event) => [...event.content.map((item) => itemLine(event, item)), ...headlines(event)]);
}

function itemLine({ author, interrupted, compaction }: Event, item: ContentItem): string {
  switch (item.type) {
    case 'message':
      return `${author}: ${outputText(item.content)}${interrupted ? ' (interrupted)' : ''}${compaction === undefined ? '' : ' (a summary)'}`;
    case 'tool_call':
      return `${author} calls ${item.name} ${JSON.stringify(item.arguments)}`;
    case 'tool_result':
      return `${item.name}${item.status === 'error' ? ' failed' : ''}: ${resultText(item.content)}`;
  }
}

function headlines({
  author,
  content,
  decision,
  refused,
  raised,
  permissions,
  failed,
  interrupted,
  compaction,
  contextUpdates,
  memory,
}: Event): string[] {
  const lines: string[] = [];
  if (decision !== undefined) {
    const { type, toolName, reason } = decision;
    lines.push(`${decider(decision)} ${VERBS[type]} ${toolName}${reason === undefined ? '' : `: ${reason}`}`);
  }
  if (refused !== undefined) lines.push(`${refused.request} of ${author} is refused: ${refused.message}`);
  if (permissions !== undefined) lines.push(`${author} sets permissions ${JSON.stringify(permissions.permissions)}`);
  if (raised !== undefined) lines.push(`${author} raises ${JSON.stringify(raised.limits)}`);
  if (failed !== undefined) lines.push(`a model call failed: ${failed.code}`);
  if (interrupted && content.length === 0) lines.push(`${author}: (interrupted)`);
  if (compaction?.evicted !== undefined) lines.push(`${compaction.evicted.length} old results are removed from the window`);
  if (compaction?.dropped !== undefined) lines.push('what was recalled is removed from the window');
  if (memory !== undefined && 'unavailable' in memory) lines.push(`the memory is not available: ${memory.unavailable}`);
  for (const { operations } of contextUpdates ?? []) for (const { op, key } of operations) lines.push(`deps: ${op} ${key}`);
  return lines;
}

const VERBS = { approve: 'approves', reject: 'rejects', respond: 'answers' } as const;
